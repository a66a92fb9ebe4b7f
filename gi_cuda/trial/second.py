"""A second case of each role, of another size where that runs as well.

What holds for a single case may be taken for granted by a variant: how much data there is, and
that it fills all blocks.
"""

from __future__ import annotations

from dataclasses import replace

from gi_cuda.init.cases import Second, second_of
from gi_cuda.trial.facts import impossible, on_device
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome
from gi_cuda.trial.troubles import Bearable, borne_with

_LESS_AND_LESS = (Second.ODD, Second.WHOLE, Second.NEARLY, Second.SAME)
"""What is tried, from the first one that makes sense."""


def with_second_cases(outcome: Outcome, attempt: Attempt) -> Outcome:
    """What passes, with a second case of each role that passes as well as the first ones do; where
    nothing passes, with what is thought best."""
    first = second_of(outcome.proposal.extents)
    if not outcome.passes:
        return _with(outcome, first)
    borne: tuple[type, ...] | None = None
    for second in _LESS_AND_LESS[_LESS_AND_LESS.index(first) :]:
        tried = _with(outcome, second)
        if impossible(tried.proposal, on_device(tried.proposal)):
            continue
        trouble = attempt(tried.proposal, PATIENCE)
        if isinstance(trouble, Bearable) and borne is None:
            borne = borne_with(attempt(outcome.proposal, PATIENCE))
        if trouble is None or isinstance(trouble, borne or ()):
            return tried
    return outcome


def _with(outcome: Outcome, second: Second) -> Outcome:
    return replace(outcome, proposal=replace(outcome.proposal, second=second))
