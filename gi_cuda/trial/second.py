"""Add a second case of each role, of another size if that runs.

With a single case, variants could rely on its size, for example that data fills all blocks. A
second case also has other random numbers.
"""

from __future__ import annotations

from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.cases import Second, second_of
from gi_cuda.trial.facts import impossible, on_device
from gi_cuda.trial.search import Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Brief

_LESS_AND_LESS = (Second.ODD, Second.WHOLE, Second.FEWER, Second.NEARLY, Second.SAME)
"""Kinds of second cases in the order in which they are tried."""


def with_second_cases(outcome: Outcome, attempt: Attempt) -> Outcome:
    """Return an outcome with a second case of each role that passes as well as the first.

    If the outcome does not pass, the second case is not tried; the most likely valid kind is taken.
    """
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
        # A launch that is about as short as the limit is sometimes reported as brief.
        brief = isinstance(trouble, Brief) and (outcome.brief > 0 or second is Second.SAME)
        if trouble is None or brief:
            return replace(outcome, proposal=tried)
    return outcome


def _from(first: Second) -> tuple[Second, ...]:
    return _LESS_AND_LESS[_LESS_AND_LESS.index(first) :]


def _with(proposal: Proposal, second: Second) -> Proposal:
    return replace(proposal, second=second)
