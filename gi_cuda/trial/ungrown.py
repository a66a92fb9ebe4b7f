"""Sizes with which no buffer has to be larger than the source has it.

Buffers grow to where a kernel goes. One that is made for squares may take the length of a row for
the number of rows, one without a check may go on to the end of its last block: with other sizes it
would stay within what there is, and fill it. So what passes is tried with buffers as they were,
with one number for all sizes that host code has alike, and with sizes that are whole blocks.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.buffers import ProposedBuffer
from gi_cuda.init.sizes import Extent
from gi_cuda.trial.changes import Mend
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.large import TryLarge, with_large_cases
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome
from gi_cuda.trial.troubles import Bearable, borne_with

_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = 128
"""Of which whole sizes are multiples."""

_WHOLE_NOTE = (
    "a multiple of what blocks are made of: with others the kernel goes beyond its buffers"
)
_NOTE = "as many as {}, as in the source: with others the kernel goes beyond its buffers"


def with_buffers_as_they_were(
    outcome: Outcome, attempt: Attempt, large: TryLarge, until: float
) -> Outcome:
    """What passes, with sizes for which no buffer has to be grown, if there are such.

    Args:
        until: on the monotonic clock, when no further sizes are tried.
    """
    if not outcome.passes or not _is_grown(outcome.proposal):
        return outcome
    borne: tuple[type, ...] | None = None
    for mend in _candidates(outcome.proposal):
        if time.monotonic() >= until or not is_handy(mend.proposal):
            continue
        trouble = attempt(mend.proposal, PATIENCE)
        if isinstance(trouble, Bearable) and borne is None:
            borne = borne_with(attempt(outcome.proposal, PATIENCE))
        if trouble is not None and not isinstance(trouble, borne or ()):
            continue
        tried = with_large_cases(
            replace(outcome, proposal=mend.proposal), attempt, large, max(until, time.monotonic())
        )
        if not _is_grown(tried.proposal):
            return replace(tried, done=(*outcome.done, mend.said))
    return outcome


def _is_grown(proposal: Proposal) -> bool:
    return any(one.grown for one in proposal.buffers)


def _candidates(proposal: Proposal) -> Iterator[Mend]:
    before = _as_before(proposal)
    yield Mend(before, "buffers as they were")
    yield Mend(_whole(before), "sizes that are whole blocks")
    if (squared := _squared(before)) is not None:
        yield squared
        yield Mend(_whole(squared.proposal), f"{squared.said}, in whole blocks")


def _as_before(proposal: Proposal) -> Proposal:
    """With buffers as they were before they were grown."""

    def ungrown(one: ProposedBuffer) -> ProposedBuffer:
        notes = replace(one.notes, size="")
        return replace(one, elements=one.grown, grown="", notes=notes) if one.grown else one

    return replace(proposal, buffers=tuple(map(ungrown, proposal.buffers)))


def _whole(proposal: Proposal) -> Proposal:
    """With sizes that are multiples of what blocks are made of; those that differ still do."""
    free = [one for one in proposal.extents if not one.blocks]
    train = _multiples([one.train for one in free])
    held_out = _multiples([one.held_out for one in free])
    if [*train.values()] == [*held_out.values()]:
        held_out = {size: 2 * many for size, many in held_out.items()}

    def whole(one: Extent) -> Extent:
        if one.blocks:
            return one
        sizes = train[one.train], held_out[one.held_out]
        # Of that on a GPU another case has half.
        device = max(_up(one.device, 2 * _WHOLE), sizes[0])
        return replace(one, train=sizes[0], held_out=sizes[1], device=device, note=_WHOLE_NOTE)

    return replace(proposal, extents=tuple(map(whole, proposal.extents)))


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _multiples(sizes: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    last = 0
    for size in sorted(set(sizes)):
        last = found[size] = max(_up(size, _WHOLE), last + _WHOLE)
    return found


def _squared(proposal: Proposal) -> Mend | None:
    """With one number for those sizes that the source has alike; None where there are no such."""
    known = {} if proposal.use is None else proposal.use.values
    free = [one for one in proposal.extents if one.passed and not one.blocks and one.name in known]
    alike = [[e for e in free if known[e.name] == known[f.name]] for f in free]
    group = max(alike, key=len, default=[])
    plain = all(one.image is None and not one.known for one in proposal.buffers)
    if len(group) < 2 or not plain or proposal.further:
        return None
    first, *others = [one.name for one in group]
    as_first = dict.fromkeys(others, first)

    def change(text: str) -> str:
        return _WORD.sub(lambda match: as_first.get(match[0], match[0]), text)

    sizes = {one.name: one for one in proposal.extents if one.name not in as_first}
    sizes[first] = _one_for(group)
    scalars = tuple(
        replace(one, computed=first, note=_NOTE.format(first))
        if one.name in as_first
        else replace(one, computed=None if one.computed is None else change(one.computed))
        for one in proposal.scalars
    )
    counts = proposal.counts
    buffers = (replace(one, elements=change(one.ahead(counts))) for one in proposal.buffers)
    squared = replace(
        proposal,
        extents=tuple(sizes.values()),
        scalars=scalars,
        buffers=tuple(buffers),
        launching=proposal.launching.rewritten(change),
    )
    return Mend(squared, f"one number for {', '.join([first, *others])}")


def _one_for(group: Sequence[Extent]) -> Extent:
    """A size in place of several: on a GPU such that there are about as many data."""
    mean = math.prod(one.device for one in group) ** (1 / len(group))
    train, held_out = max(one.train for one in group), max(one.held_out for one in group)
    if train == held_out:
        held_out *= 2
    return replace(
        group[0], train=train, held_out=held_out, device=max(train, 1 << round(math.log2(mean)))
    )
