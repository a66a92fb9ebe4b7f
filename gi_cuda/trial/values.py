"""Values of parameters that are right by themselves.

A macro may say how large a block is, and host code or other kernels take its default for granted: a
grid stays what it is, a buffer has an item for each block. No search should be offered its others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gi_cuda.evaluate.checks.values import EXCLUDED, REFUSED, RIGHT, TriedValue
from gi_cuda.init import Proposal
from gi_cuda.init.kernel.tuning import Tunable
from gi_cuda.spec import Value
from gi_cuda.trial.mends import without
from gi_cuda.trial.search import Outcome

_HARMLESS = (RIGHT, EXCLUDED, REFUSED)
"""What may become of a value that is offered: what is refused costs a search nothing."""

_WHY = "no other value is right by itself: something does not follow it"

TryValues = Callable[[Proposal], Sequence[TriedValue]]
"""What becomes of each value of each active parameter by itself."""


def with_right_values(outcome: Outcome, values: TryValues) -> Outcome:
    """What passes, with those values of parameters alone that are right by themselves; a parameter
    with none but its default is offered as a comment.
    """
    proposal = outcome.proposal
    active = any(one.active and one.kind != "flag" for one in proposal.parameters)
    if not outcome.passes or not active:
        return outcome
    wrong = {(v.parameter, v.value) for v in values(proposal) if v.outcome not in _HARMLESS}
    right = tuple(_right(one, wrong) for one in proposal.parameters)
    lone = frozenset(one.name for one in right if one.why == _WHY)
    return replace(outcome, proposal=without(replace(proposal, parameters=right), lone))


def _right(one: Tunable, wrong: Collection[tuple[str, Value]]) -> Tunable:
    """A parameter without its wrong values; with all, and why it is none, if no other is left."""
    left = tuple(value for value in one.values if (one.name, value) not in wrong)
    if left == one.values:
        return one
    return replace(one, values=left) if len(left) > 1 else replace(one, why=_WHY)
