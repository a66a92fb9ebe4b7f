"""Sizes of the cases for a GPU, which are tried on the host as well: with memory around all
buffers, and as long as a processor does in seconds what a GPU does in milliseconds.

What is right with little data need not be with more: a buffer that was large enough for all threads
is not for all items, and a size that was grown to the square of a number may take all memory.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection
from dataclasses import replace

from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.trial.facts import CASES, JUDGED, LARGE_CASES, bytes_of, impossible, plan
from gi_cuda.trial.growing import larger
from gi_cuda.trial.resizing import GPU_GOAL
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome
from gi_cuda.trial.troubles import Bearable, Beside, Brief, Slow, Trouble

MOST_TRIES = 6

_WORD = re.compile(r"[A-Za-z_]\w*")

_MOST_BYTES = 1 << 28
"""Of all buffers in a case."""

_MOST_JUDGED = 1 << 26
"""Of what is judged in a case: where answers differ in bits, an oracle on the host looks at all of
it, which took more than half of a search with twice as much."""

_MOST_LONGER = 64

_MORE = 4
"""Times as large a size is on a GPU, where it would be less than on the host."""

_HALF, _LESS, _OVER = 2, 8, 32
"""Factors by which data get less: until they fit, where nothing says how large they may be, and
where what takes long was ended."""

TryLarge = Callable[[Proposal], Trouble | None]
"""What goes wrong with a proposal's cases for a GPU."""


def with_large_cases(outcome: Outcome, attempt: Attempt, large: TryLarge, until: float) -> Outcome:
    """What passes on the host, with cases for a GPU that ran as well.

    Where they do not, sizes get smaller, at last what they are on the host, or buffers that are too
    small for them grow. Where they take next to no time, sizes get larger, as long as that runs.

    Args:
        until: on the monotonic clock, when no further sizes are tried.
    """
    proposal = _fitting(_no_less(outcome.proposal))
    brief: Proposal | None = None
    tries = MOST_TRIES if outcome.passes else 0
    while tries and _has_large(proposal) and time.monotonic() < until:
        trouble = large(proposal)
        if trouble is None:
            break
        tries -= 1
        if isinstance(trouble, Brief):
            brief, proposal = proposal, _longer(proposal, trouble.seconds)
            if proposal == brief:
                break
        elif brief is not None:
            proposal = brief
            break
        else:
            proposal = _mended(proposal, trouble, attempt) if tries else _as_on_host(proposal)
    return replace(outcome, proposal=proposal)


def _no_less(proposal: Proposal) -> Proposal:
    """With more data on a GPU than on the host of all that was made larger there since."""

    def raised(one: Extent) -> Extent:
        most = max(one.train, one.held_out)
        fixed = one.blocks or one.most or one.train == one.held_out
        return one if fixed or one.device > most else replace(one, device=_MORE * most)

    return replace(proposal, extents=tuple(map(raised, proposal.extents)))


def _mended(proposal: Proposal, trouble: Trouble, attempt: Attempt) -> Proposal:
    if isinstance(trouble, Slow):
        return _smaller(proposal, _OVER if trouble.over else _LESS)
    if isinstance(trouble, Beside):
        nothing: dict[str, Beyond] = {}
        seen = {**dict.fromkeys(CASES, nothing), **trouble.seen}
        for mend in larger(proposal, Beside(seen)):
            grown = _fitting(mend.proposal)
            if isinstance(attempt(grown, PATIENCE), Bearable | None):
                return grown
    return _smaller(proposal, _LESS)


def _fitting(proposal: Proposal) -> Proposal:
    """With no more data on a GPU than can be made in no time."""
    while _has_large(proposal) and _too_much(proposal):
        proposal = _smaller(proposal, _HALF)
    return proposal


def _too_much(proposal: Proposal) -> bool:
    if impossible(proposal, LARGE_CASES):
        return True
    return _bytes(proposal) > _MOST_BYTES or _bytes(proposal, JUDGED) > _MOST_JUDGED


def _has_large(proposal: Proposal) -> bool:
    return any(extent.device > extent.train for extent in proposal.extents)


def _smaller(proposal: Proposal, factor: int) -> Proposal:
    """With so many times less data on a GPU, though as much as on the host."""
    if impossible(proposal, LARGE_CASES):
        return _halved(proposal)
    most = _bytes(proposal) / factor
    steps = math.ceil(math.log2(factor))
    ratio = max(one.device / one.train for one in proposal.extents if one.device > one.train)
    if factor >= ratio:
        # Between what is too much and what the host has there may be something.
        steps = max(1, math.ceil(math.log2(ratio) / 2))
    for _ in range(steps):
        if _bytes(proposal) > most:
            proposal = _halved(proposal)
    return proposal


def _halved(proposal: Proposal) -> Proposal:
    """With half of each size; of those that decide how many blocks there are only where nothing
    else is left, since a GPU has little to do with few blocks."""
    growing = [one.name for one in proposal.extents if one.device > one.train]
    launched = set(_WORD.findall(" ".join(proposal.launching.grid)))
    chosen = [name for name in growing if name not in launched] or growing

    def size(one: Extent) -> int:
        # What was a multiple of blocks and tiles, which are powers of two, still is.
        return max(one.train, one.device // 2) if one.name in chosen else one.device

    return _resized(proposal, size)


def _longer(proposal: Proposal, seconds: float) -> Proposal:
    """With more data on a GPU, so that a launch takes long enough to be timed well there."""
    factor = min(GPU_GOAL / max(seconds, 1e-6), _MOST_LONGER)
    most = min(_bytes(proposal) * factor, _MOST_BYTES)
    for _ in range(math.floor(math.log2(factor))):
        longer = _doubled(proposal)
        if _bytes(longer) <= most and _bytes(longer, JUDGED) <= _MOST_JUDGED:
            proposal = longer
    return proposal


def _doubled(proposal: Proposal) -> Proposal:
    note = "larger than at first, so that a launch takes long enough to be timed well"
    extents = tuple(
        replace(one, device=one.device * 2, device_note=note)
        if one.device > one.train and not one.blocks and not 0 < one.most < 2 * one.device
        else one
        for one in proposal.extents
    )
    doubled = replace(proposal, extents=extents)
    return proposal if impossible(doubled, LARGE_CASES) else doubled


def _bytes(proposal: Proposal, roles: Collection[str] = ()) -> int:
    """Of all buffers, or of those of some roles, in the larger case for a GPU."""
    buffers = tuple(one for one in proposal.buffers if not roles or one.role in roles)
    some = replace(proposal, buffers=buffers)
    return max(bytes_of(some, plan(proposal, one)) for one in LARGE_CASES)


def _as_on_host(proposal: Proposal) -> Proposal:
    return _resized(proposal, lambda one: one.train)


def _resized(proposal: Proposal, size: Callable[[Extent], int]) -> Proposal:
    """With other sizes on a GPU of what is more there than on the host, and why."""

    def resized(one: Extent) -> Extent:
        if one.device <= one.train:
            return one
        if (new := size(one)) == one.device:
            return one
        note = "smaller than at first, so that it fits and does not take long"
        if new == one.train:
            note = "as on the host: more did not run there"
        return replace(one, device=new, device_note=note)

    return replace(proposal, extents=tuple(map(resized, proposal.extents)))
