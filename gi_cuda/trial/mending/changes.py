"""Small changes of a proposal, of which fixes are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar


@dataclass(frozen=True, slots=True)
class Mend:
    """A changed proposal that may pass.

    Attributes:
        said: description of the change, for users.
    """

    proposal: Proposal
    said: str


def with_buffer(proposal: Proposal, buffer: ProposedBuffer) -> Proposal:
    """Replace the buffer of the same name."""
    buffers = tuple(buffer if one.name == buffer.name else one for one in proposal.buffers)
    return replace(proposal, buffers=buffers)


def resized(proposal: Proposal, change: Callable[[Extent, int], int], note: str) -> Proposal:
    """Change sizes in the cases for the host, and add a note to those that differ.

    Sizes that differed between train and held-out case still do.

    Args:
        change: returns the new size for an extent and its size in a case.
        note: the reason for the change.
    """

    def changed(one: Extent) -> Extent:
        if one.blocks:
            return one
        train, held_out = change(one, one.train), change(one, one.held_out)
        if (train, held_out) == (one.train, one.held_out):
            return one
        if train == held_out and one.train != one.held_out:
            held_out *= 2  # keeps multiples
        return replace(one, train=train, held_out=held_out, note=note)

    return replace(proposal, extents=tuple(map(changed, proposal.extents)))


def multiplied(proposal: Proposal, factor: int, note: str) -> Proposal:
    """Multiply all sizes in the cases for the host by a factor."""
    return resized(proposal, lambda _, size: factor * size, note)


def whole(scalar: ProposedScalar, proposal: Proposal) -> bool:
    """Tell whether a scalar is an integer that is equal in all cases."""
    return (
        scalar.computed is None
        and scalar.name not in proposal.counts
        and "int" in scalar.element.type
        and not scalar.element.truth
    )


def with_scalars(
    proposal: Proposal, change: Callable[[ProposedScalar], int], note: str
) -> Proposal:
    """Change integers that are equal in all cases, and add a note."""

    def changed(one: ProposedScalar) -> ProposedScalar:
        if not whole(one, proposal) or (value := change(one)) == one.value:
            return one
        return replace(one, value=value, note=f"{note}; was {one.value}")

    return replace(proposal, scalars=tuple(map(changed, proposal.scalars)))
