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
from gi_cuda.init.proposing.geometry import Launching
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
    right, lone = _tried(proposal, values)
    if lone and proposal.launching.guessed:
        # The number of blocks may be one that the size of a block has no part in.
        other = replace(proposal, launching=_with_fixed_grid(proposal, lone))
        found, still = _tried(other, values) if other != proposal else (right, lone)
        if still < lone:
            proposal, right, lone = other, found, still
    return replace(outcome, proposal=without(replace(proposal, parameters=right), lone))


def _tried(proposal: Proposal, values: TryValues) -> tuple[tuple[Tunable, ...], frozenset[str]]:
    """Return the parameters with their right values, and the names of those with the default
    alone."""
    wrong = {(v.parameter, v.value) for v in values(proposal) if v.outcome not in _HARMLESS}
    right = tuple(_right(one, wrong) for one in proposal.parameters)
    return right, frozenset(one.name for one in right if one.why == _WHY)


def _with_fixed_grid(proposal: Proposal, names: frozenset[str]) -> Launching:
    """Return a launch whose grid is that of the defaults of some parameters."""
    grid = without(proposal, names).launching.grid
    return replace(proposal.launching, grid=grid)


def _right(one: Tunable, wrong: Collection[tuple[str, Value]]) -> Tunable:
    """A parameter without its wrong values; with all, and why it is none, if no other is left."""
    left = tuple(value for value in one.values if (one.name, value) not in wrong)
    if left == one.values:
        return one
    return replace(one, values=left) if len(left) > 1 else replace(one, why=_WHY)
