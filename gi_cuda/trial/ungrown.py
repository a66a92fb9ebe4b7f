"""Sizes with which no buffer has to be larger than the source has it.

Buffers grow to where a kernel goes. One that is made for squares may take the length of a row for
the number of rows, one without a check may go on to the end of its last block: with other sizes it
would stay within what there is, and fill it; one that reads four items at a time finds behind the
last one what is no index, and goes to where that leads. So what passes is tried with buffers as
they were, with one number for all sizes that host code has alike, and with sizes that are whole
blocks.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.changes import Mend
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.growing import is_poison
from gi_cuda.trial.large import TryLarge, with_large_cases
from gi_cuda.trial.search import Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Brief, Slow

_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = 128
"""Of which whole sizes are multiples."""

_LARGE = 5.0
"""Seconds in which sizes for a GPU are tried with each."""

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
    substitutes = Substitutes(outcome.proposal, attempt)
    trials = _Trials(outcome, substitutes, large, until)
    before = _as_before(outcome.proposal)
    names = [one.name for one in before.extents if not one.blocks]
    if (found := trials.of(Mend(before, "buffers as they were"))) is not None:
        return found
    whole = trials.of(Mend(_whole(before, names), "sizes that are whole blocks"))
    if whole is not None:
        # Of the others it may matter that they are no multiples.
        lone = (Mend(_whole(before, [name]), f"{name} in whole blocks") for name in names)
        tried = map(trials.of, lone) if len(names) > 1 else ()
        return next((one for one in tried if one is not None), whole)
    if (squared := _squared(before)) is None:
        return outcome
    both = Mend(_whole(squared.proposal, names), f"{squared.said}, in whole blocks")
    return trials.of(squared) or trials.of(both) or outcome


@dataclass(slots=True)
class _Trials:
    """Tries sizes in place of those of what passes."""

    outcome: Outcome
    substitutes: Substitutes
    large: TryLarge
    until: float

    def of(self, mend: Mend) -> Outcome | None:
        """What becomes of it; None where it does not do as well, or a buffer grows again."""
        if time.monotonic() >= self.until or not is_handy(mend.proposal):
            return None
        if self.substitutes.trouble(mend.proposal) is not None:
            return None
        found = replace(self.outcome, proposal=mend.proposal)
        until = time.monotonic() + _LARGE
        tried = with_large_cases(found, self.substitutes.attempt, self.large, until)
        if _is_grown(tried.proposal) or not self._runs_large(tried.proposal):
            return None
        return replace(tried, done=(*self.outcome.done, mend.said))

    def _runs_large(self, proposal: Proposal) -> bool:
        """Whether the cases for a GPU run, of which it may be that there was no time to see it."""
        trouble = self.large(proposal)
        return isinstance(trouble, Brief | None) or (isinstance(trouble, Slow) and not trouble.over)


def _is_grown(proposal: Proposal) -> bool:
    return any(one.grown or _begins_by_poison(one) for one in proposal.buffers)


def _begins_by_poison(buffer: ProposedBuffer) -> bool:
    return buffer.begin.isdigit() and is_poison(int(buffer.begin))


def _as_before(proposal: Proposal) -> Proposal:
    """With buffers as they were before they were grown."""

    def ungrown(one: ProposedBuffer) -> ProposedBuffer:
        one = replace(one, begin="") if _begins_by_poison(one) else one
        notes = replace(one.notes, size="")
        return replace(one, elements=one.grown, grown="", notes=notes) if one.grown else one

    return replace(proposal, buffers=tuple(map(ungrown, proposal.buffers)))


def _whole(proposal: Proposal, names: Collection[str]) -> Proposal:
    """With some sizes that are multiples of what blocks are made of; those that differ still do."""
    free = [one for one in proposal.extents if one.name in names]
    train = _multiples([one.train for one in free])
    held_out = _multiples([one.held_out for one in free])
    twice = {size: 2 * many for size, many in held_out.items()}
    found = _multiplied(proposal, train, held_out, names)
    if [*train.values()] == [*held_out.values()]:
        more = _multiplied(proposal, train, twice, names)
        return more if is_handy(more) else found
    return found


def _multiplied(
    proposal: Proposal,
    train: Mapping[int, int],
    held_out: Mapping[int, int],
    names: Collection[str],
) -> Proposal:
    def whole(one: Extent) -> Extent:
        if one.name not in names or one.most:
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
    plain = all(one.image is None for one in proposal.buffers)
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
