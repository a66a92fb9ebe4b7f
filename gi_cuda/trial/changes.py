"""Small changes of a proposal that mends are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar


@dataclass(frozen=True, slots=True)
class Mend:
    """A proposal that may do better.

    Attributes:
        said: what was changed, for people.
    """

    proposal: Proposal
    said: str


def with_buffer(proposal: Proposal, buffer: ProposedBuffer) -> Proposal:
    """With another buffer in place of that of the same name."""
    buffers = tuple(buffer if one.name == buffer.name else one for one in proposal.buffers)
    return replace(proposal, buffers=buffers)


def resized(proposal: Proposal, change: Callable[[Extent, int], int], note: str) -> Proposal:
    """With other sizes of data in the cases for the host, and why behind those that differ.

    What train and held-out case had different stays so.

    Args:
        change: from an extent and its size in a case to the new one.
    """

    def changed(one: Extent) -> Extent:
        if one.blocks:
            return one
        train, held_out = change(one, one.train), change(one, one.held_out)
        if (train, held_out) == (one.train, one.held_out):
            return one
        if train == held_out and one.train != one.held_out:
            held_out *= 2  # what was a multiple still is
        return replace(one, train=train, held_out=held_out, note=note)

    return replace(proposal, extents=tuple(map(changed, proposal.extents)))


def multiplied(proposal: Proposal, factor: int, note: str) -> Proposal:
    """With so many times as much data in the cases for the host, and why."""
    return resized(proposal, lambda _, size: factor * size, note)


def whole(scalar: ProposedScalar, proposal: Proposal) -> bool:
    """Whether a scalar is a whole number that every case gives alike."""
    return (
        scalar.computed is None
        and scalar.name not in proposal.counts
        and "int" in scalar.element.type
        and not scalar.element.truth
    )


def with_scalars(
    proposal: Proposal, change: Callable[[ProposedScalar], int], note: str
) -> Proposal:
    """With other values for whole numbers that are alike in all cases, and why."""

    def changed(one: ProposedScalar) -> ProposedScalar:
        if not whole(one, proposal) or (value := change(one)) == one.value:
            return one
        return replace(one, value=value, note=f"{note}; was {one.value}")

    return replace(proposal, scalars=tuple(map(changed, proposal.scalars)))
