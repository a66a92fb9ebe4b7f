"""Restore buffers to their sizes in the source, if these are enough after all.

Buffers are enlarged to where a kernel accesses them. With other data or sizes, found later, the
kernel may stay within the original size.
"""

from __future__ import annotations

import time
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.large import TryLarge, with_large_cases
from gi_cuda.trial.mending.growing import is_poison
from gi_cuda.trial.search import Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Brief, Slow

_LARGE = 5.0
"""Seconds for trials of sizes for a GPU."""


def with_buffers_as_they_were(outcome: Outcome, attempt: Attempt, large: TryLarge) -> Outcome:
    """Return an outcome with buffers as they were before they were enlarged, if that passes too."""
    before = _as_before(outcome.proposal)
    if not outcome.passes or not _is_grown(outcome.proposal) or not is_handy(before):
        return outcome
    if Substitutes(outcome.proposal, attempt).trouble(before) is not None:
        return outcome
    until = time.monotonic() + _LARGE
    tried = with_large_cases(replace(outcome, proposal=before), attempt, large, until)
    if _is_grown(tried.proposal) or not _runs_large(tried.proposal, large):
        return outcome
    return replace(tried, done=(*outcome.done, "buffers as they were"))


def _runs_large(proposal: Proposal, large: TryLarge) -> bool:
    """Tell whether the GPU cases run; an earlier trial may have had no time for them."""
    trouble = large(proposal)
    return isinstance(trouble, Brief | None) or (isinstance(trouble, Slow) and not trouble.over)


def _is_grown(proposal: Proposal) -> bool:
    return any(one.grown or _begins_by_poison(one) for one in proposal.buffers)


def _begins_by_poison(buffer: ProposedBuffer) -> bool:
    return buffer.begin.isdigit() and is_poison(int(buffer.begin))


def _as_before(proposal: Proposal) -> Proposal:
    """Restore all buffers to their sizes before they were enlarged."""

    def ungrown(one: ProposedBuffer) -> ProposedBuffer:
        one = replace(one, begin="") if _begins_by_poison(one) else one
        notes = replace(one.notes, size="")
        return replace(one, elements=one.grown, grown="", notes=notes) if one.grown else one

    return replace(proposal, buffers=tuple(map(ungrown, proposal.buffers)))
