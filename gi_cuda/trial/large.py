"""Adjust the sizes of the GPU cases, by trying them on the host.

They are tried with memory around all buffers, and should take a processor seconds, a GPU
milliseconds. A buffer that was large enough for all threads may be too small for more items, and
a size that was fitted as the square of a number may exceed memory.
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
from gi_cuda.trial.mending.growing import larger
from gi_cuda.trial.mending.resizing import GPU_GOAL
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome
from gi_cuda.trial.troubles import Bearable, Beside, Brief, Slow, Trouble

MOST_TRIES = 6

_WORD = re.compile(r"[A-Za-z_]\w*")

_MOST_BYTES = 1 << 28
"""Largest size of all buffers in a case."""

_MOST_JUDGED = 1 << 26
"""Largest size of all outputs in a case.

If results are not equal in bits, an oracle on the host compares all of them, which took more than
half of a search with twice as much.
"""

_MOST_LONGER = 64

_MORE = 4
"""Ratio of GPU and host sizes, for a size that would otherwise be smaller on a GPU."""

_HALF, _LESS, _OVER = 2, 8, 32
"""Factors to reduce data by: until it fits, after an unknown failure, after a timeout."""

TryLarge = Callable[[Proposal], Trouble | None]
"""Function that returns the trouble with a proposal's GPU cases, or None."""


def with_large_cases(outcome: Outcome, attempt: Attempt, large: TryLarge, until: float) -> Outcome:
    """Return an outcome that passes with GPU cases that run as well.

    If they do not run, sizes are reduced (down to those on the host) or buffers enlarged. If they
    are
    too short, sizes are increased while they run.

    Args:
        until: time on the monotonic clock after which no further sizes are tried.
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
    """Raise sizes on a GPU that are not larger than the enlarged sizes on the host."""

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
    """Halve sizes on a GPU until memory is small enough."""
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
    """Reduce sizes on a GPU until they need a fraction of the memory, but not below those on the
    host.
    """
    if impossible(proposal, LARGE_CASES):
        return _halved(proposal)
    most = _bytes(proposal) / factor
    steps = math.ceil(math.log2(factor))
    ratio = max(one.device / one.train for one in proposal.extents if one.device > one.train)
    if factor >= ratio:
        # Do not fall back to the host's sizes at once: take half the steps to them.
        steps = max(1, math.ceil(math.log2(ratio) / 2))
    for _ in range(steps):
        if _bytes(proposal) > most:
            proposal = _halved(proposal)
    return proposal


def _halved(proposal: Proposal) -> Proposal:
    """Halve sizes on a GPU, those that determine the number of blocks only if no others are left.

    A GPU has little to do with few blocks.
    """
    growing = [one.name for one in proposal.extents if one.device > one.train]
    launched = set(_WORD.findall(" ".join(proposal.launching.grid)))
    chosen = [name for name in growing if name not in launched] or growing

    def size(one: Extent) -> int:
        # Halving keeps most multiples of blocks and tiles, which are powers of two.
        return max(one.train, one.device // 2) if one.name in chosen else one.device

    return _resized(proposal, size)


def _longer(proposal: Proposal, seconds: float) -> Proposal:
    """Increase sizes on a GPU so that a launch takes long enough to be timed well."""
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
    """Return bytes of all buffers, or of those with some roles, in the larger GPU case."""
    buffers = tuple(one for one in proposal.buffers if not roles or one.role in roles)
    some = replace(proposal, buffers=buffers)
    return max(bytes_of(some, plan(proposal, one)) for one in LARGE_CASES)


def _as_on_host(proposal: Proposal) -> Proposal:
    return _resized(proposal, lambda one: one.train)


def _resized(proposal: Proposal, size: Callable[[Extent], int]) -> Proposal:
    """Change sizes on a GPU that are larger than on the host, and add a note."""

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
