"""A second case of each role, of another size where that runs as well.

What holds for a single case may be taken for granted by a variant: how much data there is, and
that it fills all blocks. A second case has other random numbers as well; where these are indices,
they may go further than the first ones did.
"""

from __future__ import annotations

import time
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.cases import Second, second_of
from gi_cuda.trial.facts import impossible, on_device
from gi_cuda.trial.growing import larger
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Bearable, Beside, Brief, Trouble

_LESS_AND_LESS = (Second.ODD, Second.WHOLE, Second.FEWER, Second.NEARLY, Second.SAME)
"""What is tried, from the first one that makes sense."""

_GROWN = 3
"""Times that buffers get larger for numbers that go further than the first ones did."""


def with_second_cases(outcome: Outcome, attempt: Attempt, until: float) -> Outcome:
    """What passes, with a second case of each role that passes as well as the first ones do; where
    nothing passes, with what is thought best.

    Args:
        until: on the monotonic clock, when no buffer gets larger any more.
    """
    first = second_of(outcome.proposal.extents)
    if not outcome.passes:
        every = [_with(outcome.proposal, second) for second in _from(first)]
        return replace(
            outcome, proposal=next((one for one in every if not impossible(one)), every[0])
        )
    substitutes = Substitutes(outcome.proposal, attempt)
    trouble: Trouble | None = None
    for second in _from(first):
        tried = _with(outcome.proposal, second)
        if impossible(tried, on_device(tried)):
            continue
        trouble = substitutes.trouble(tried)
        # One that is about as short as a launch can be to be timed is so at times.
        brief = isinstance(trouble, Brief) and (outcome.brief > 0 or second is Second.SAME)
        if trouble is None or brief:
            return replace(outcome, proposal=tried)
    tried = _with(outcome.proposal, Second.SAME)
    for _ in range(_GROWN):
        if not isinstance(trouble, Beside) or time.monotonic() >= until:
            break
        if (mend := next(larger(tried, trouble), None)) is None:
            break
        tried, trouble = mend.proposal, attempt(mend.proposal, PATIENCE)
        if isinstance(trouble, Bearable | None):
            done = (*outcome.done, f"for other random numbers {mend.said}")
            return replace(outcome, proposal=tried, done=done)
    return outcome


def _from(first: Second) -> tuple[Second, ...]:
    return _LESS_AND_LESS[_LESS_AND_LESS.index(first) :]


def _with(proposal: Proposal, second: Second) -> Proposal:
    return replace(proposal, second=second)
