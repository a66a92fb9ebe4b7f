"""A second case of each role, of another size where that runs as well.

What holds for a single case may be taken for granted by a variant: how much data there is, and
that it fills all blocks. A second case has other random numbers as well.
"""

from __future__ import annotations

from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.cases import Second, second_of
from gi_cuda.trial.facts import impossible, on_device
from gi_cuda.trial.search import Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Brief

_LESS_AND_LESS = (Second.ODD, Second.WHOLE, Second.FEWER, Second.NEARLY, Second.SAME)
"""What is tried, from the first one that makes sense."""


def with_second_cases(outcome: Outcome, attempt: Attempt) -> Outcome:
    """What passes, with a second case of each role that passes as well as the first ones do; where
    nothing passes, with what is thought best."""
    first = second_of(outcome.proposal.extents)
    if not outcome.passes:
        every = [_with(outcome.proposal, second) for second in _from(first)]
        return replace(
            outcome, proposal=next((one for one in every if not impossible(one)), every[0])
        )
    substitutes = Substitutes(outcome.proposal, attempt)
    for second in _from(first):
        tried = _with(outcome.proposal, second)
        if impossible(tried, on_device(tried)):
            continue
        trouble = substitutes.trouble(tried)
        # One that is about as short as a launch can be to be timed is so at times.
        brief = isinstance(trouble, Brief) and (outcome.brief > 0 or second is Second.SAME)
        if trouble is None or brief:
            return replace(outcome, proposal=tried)
    return outcome


def _from(first: Second) -> tuple[Second, ...]:
    return _LESS_AND_LESS[_LESS_AND_LESS.index(first) :]


def _with(proposal: Proposal, second: Second) -> Proposal:
    return replace(proposal, second=second)
