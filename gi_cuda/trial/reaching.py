"""Find data that reaches more of a kernel.

A target whose kernel returns at once passes all checks, and is useless. Other scalars, contents
and sizes are tried, one change at a time. A change is kept if more statements run, or more
conditions have both outcomes, and the target still passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import Fill, ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.trial.case_coverage import Reach
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.mending.changes import Mend, resized, whole, with_buffer
from gi_cuda.trial.search import Attempt, Outcome, Substitutes

PATIENCE = 0.02
"""Seconds that a case may take for the sake of coverage."""

_NOTE = "so that more of the kernel is reached"
_WHOLE = (128, 0, 1, 8, 3, 32)
_REAL = (100.0, 0.0, 1.0, -1.0, 0.01)
_MOST_NUMBERS = 6
"""Largest number of constants from conditions that are tried."""

_SPREAD = 64
"""Largest distance of numbers that one random range covers."""

_MOST_IDLE = 24
_MOST_EACH = 3
"""Give up after this many useless changes in a row: in all, or per scalar and buffer if more."""

_TIMES = (4, 16)
_MORE = 13
"""Added to sizes to make them no multiples of blocks."""

TellReach = Callable[[Proposal], Reach | None]
"""Function that returns the coverage by a proposal's cases, or None."""


def with_more_reached(
    outcome: Outcome, attempt: Attempt, reach: TellReach, until: float
) -> Outcome:
    """Return an outcome that passes with data that covers as much of the kernel as was found.

    Args:
        until: time on the monotonic clock after which no further data is tried.
    """
    proposal = outcome.proposal
    best = reach(proposal) if outcome.passes else None
    if best is None:
        return outcome
    done, tried, idle = list(outcome.done), [proposal], 0
    substitutes = Substitutes(proposal, attempt, PATIENCE)
    waiting = _variations(proposal, best)
    most = max(_MOST_IDLE, _MOST_EACH * (len(proposal.scalars) + len(proposal.buffers)))
    while not best.complete and idle < most and time.monotonic() < until:
        if (mend := next(waiting, None)) is None:
            break
        if mend.proposal in tried or not is_handy(mend.proposal):
            continue
        tried.append(mend.proposal)
        idle += 1
        found = reach(mend.proposal)
        if found is None or found.places <= best.places:
            continue
        if substitutes.trouble(mend.proposal) is None:
            proposal, best = mend.proposal, found
            done.append(mend.said)
            waiting, idle = _variations(proposal, best), 0
    return replace(outcome, proposal=proposal, done=tuple(done), reached=best)


def _variations(proposal: Proposal, reach: Reach) -> Iterator[Mend]:
    """Yield single changes, first those of names in conditions with a single outcome."""
    numbers = sorted(reach.numbers, key=abs)[:_MOST_NUMBERS]
    every = [(one.meaning, _with_scalar(proposal, one, numbers)) for one in proposal.scalars]
    every += [
        (one.name.rpartition("_")[2], _with_contents(proposal, one, numbers))
        for one in proposal.buffers
    ]
    every += [(name, _with_size(proposal, name)) for name in proposal.counts]
    named = [changes for name, changes in every if name in reach.words]
    others = [changes for name, changes in every if name not in reach.words]
    yield from _in_turn(named)
    odd = resized(proposal, lambda _, size: size + _MORE, _NOTE)
    yield Mend(odd, "sizes that are no multiples of blocks")
    yield from _in_turn(others)


def _in_turn(several: Sequence[Iterator[Mend]]) -> Iterator[Mend]:
    """Yield the first items of all iterators, then the second ones, and so on."""
    for row in zip_longest(*several):
        yield from (mend for mend in row if mend is not None)


def _with_scalar(
    proposal: Proposal, scalar: ProposedScalar, numbers: Sequence[int]
) -> Iterator[Mend]:
    for value in _values(proposal, scalar, numbers):
        if value != scalar.value:
            changed = replace(scalar, value=value, note=f"{_NOTE}; was {scalar.value}")
            scalars = (changed if one == scalar else one for one in proposal.scalars)
            yield Mend(replace(proposal, scalars=tuple(scalars)), f"{scalar.name} = {value}")


def _values(
    proposal: Proposal, scalar: ProposedScalar, numbers: Sequence[int]
) -> Iterator[int | float]:
    """Yield values for a scalar that host code does not determine."""
    if scalar.source or scalar.computed is not None or scalar.name in proposal.counts:
        return
    if scalar.element.floating:
        yield from _REAL
    elif whole(scalar, proposal):
        least = 0 if scalar.element.type.startswith("u") else min((-1, *numbers))
        near = [number + more for more in (0, 1, -1) for number in numbers]
        mixed = (one for pair in zip_longest(near, _WHOLE) for one in pair if one is not None)
        yield from (number for number in dict.fromkeys(mixed) if number >= least)


def _with_contents(
    proposal: Proposal, buffer: ProposedBuffer, numbers: Sequence[int]
) -> Iterator[Mend]:
    if buffer.role not in ("input", "inout") or buffer.element.fields or buffer.addresses:
        return
    if buffer.into or (buffer.fill is not None and buffer.fill.rising):
        return  # indices and offsets must stay valid
    for fill in _fills(buffer, numbers):
        if fill != buffer.fill:
            notes = replace(buffer.notes, data=_NOTE)
            changed = replace(buffer, fill=fill, notes=notes)
            said = f"{buffer.name} from {fill.low} to {fill.high}"
            yield Mend(with_buffer(proposal, changed), said)


def _fills(buffer: ProposedBuffer, numbers: Sequence[int]) -> Iterator[Fill]:
    if buffer.element.floating:
        yield from (Fill(-1, 1), Fill(-100, 100), Fill(0, 2), Fill(0, 1), Fill(1, 2))
    elif buffer.element.type.removeprefix("u").startswith("int") and not buffer.element.truth:
        bits = 8 * buffer.element.bytes // buffer.element.parts
        signed = buffer.element.type.startswith("int")
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
        near = [number for number in numbers if low < number < high - 1]
        together = max(near, default=0) - min(near, default=0) <= _SPREAD
        for group in [near] if near and together else [[number] for number in near]:
            yield Fill(max(low, min(group) - 1), max(group) + 2)
        for fill in (Fill(0, 2), Fill(-1, 2), Fill(0, 8), Fill(0, 1000), Fill(low, high)):
            if low <= fill.low and fill.high <= high:
                yield fill


def _with_size(proposal: Proposal, name: str) -> Iterator[Mend]:
    for times in _TIMES:

        def larger(one: Extent, size: int, times: int = times) -> int:
            return times * size if one.name == name else size

        yield Mend(resized(proposal, larger, _NOTE), f"{name} made larger")
