"""Drop parameter values with which the kernel fails.

A macro may be the block size, while host code or other kernels rely on its default: the grid does
not change, or a buffer has an item for each block. A search should not try its other values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gi_cuda.evaluate.checks.parameters.values import EXCLUDED, REFUSED, RIGHT, TriedValue
from gi_cuda.init import Proposal
from gi_cuda.init.kernel.tuning import Tunable
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.spec import Value
from gi_cuda.trial.mending.mends import without
from gi_cuda.trial.search import Outcome

_HARMLESS = (RIGHT, EXCLUDED, REFUSED)
"""Results of a value that a search may try; a refused value costs it nothing."""

_WHY = "no other value is right by itself: something does not follow it"

TryValues = Callable[[Proposal], Sequence[TriedValue]]
"""Function that returns the result of each value of each active parameter alone."""


def with_right_values(outcome: Outcome, values: TryValues) -> Outcome:
    """Return an outcome whose parameters have only values with which the kernel works.

    Each value is tried alone. A parameter that is left with its default becomes a comment.
    """
    proposal = outcome.proposal
    active = any(one.active and one.kind != "flag" for one in proposal.parameters)
    if not outcome.passes or not active:
        return outcome
    right, lone = _tried(proposal, values)
    if lone and proposal.launching.guessed:
        # The guessed grid may be wrong: perhaps it does not depend on the block size.
        other = replace(proposal, launching=_with_fixed_grid(proposal, lone))
        found, still = _tried(other, values) if other != proposal else (right, lone)
        if still < lone:
            proposal, right, lone = other, found, still
    return replace(outcome, proposal=without(replace(proposal, parameters=right), lone))


def _tried(proposal: Proposal, values: TryValues) -> tuple[tuple[Tunable, ...], frozenset[str]]:
    """Return the parameters with their working values, and the names of those with the default
    alone.
    """
    wrong = {(v.parameter, v.value) for v in values(proposal) if v.outcome not in _HARMLESS}
    right = tuple(_right(one, wrong) for one in proposal.parameters)
    return right, frozenset(one.name for one in right if one.why == _WHY)


def _with_fixed_grid(proposal: Proposal, names: frozenset[str]) -> Launching:
    """Return a launch whose grid has the defaults of some parameters."""
    grid = without(proposal, names).launching.grid
    return replace(proposal.launching, grid=grid)


def _right(one: Tunable, wrong: Collection[tuple[str, Value]]) -> Tunable:
    """Drop a parameter's wrong values; if only the default is left, keep all and say why."""
    left = tuple(value for value in one.values if (one.name, value) not in wrong)
    if left == one.values:
        return one
    return replace(one, values=left) if len(left) > 1 else replace(one, why=_WHY)
