"""Convert a run's measured configurations to records for the files of other tuners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.measurement import Sample
from gi_cuda.runs.stored import stored_baseline, stored_plan
from gi_cuda.search.strategies.tune import tunes
from gi_cuda.spec.parameters import Value
from gi_cuda.store import Store
from gi_cuda.subject import Subject
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.records.exports import Measured
from gi_cuda.tune.rest import Goal, rest_speedup

_REASONS: Mapping[Outcome, str] = {
    Outcome.NOT_BUILT: "compile",
    Outcome.HUNG: "timeout",
    Outcome.WRONG: "correctness",
}
"""Reason without a time, by outcome; for other outcomes it is a failed launch ("runtime")."""


def measured(store: Store, subject: Subject) -> Iterator[Measured]:
    """Yield the measured configurations of a run, in the order of their individuals.

    Individuals with edits are left out. The reference comes first, with the time of the baseline.
    """
    seconds = stored_baseline(store).seconds
    yield Measured(dict(subject.original.configuration), seconds * 1e3, times=[seconds * 1e3])
    found, stored_at = store.evaluations(), store.stored_at()
    for one in store.individuals():
        genotype = subject.read(one.genotype)
        if one.ident in found and not genotype.edits:
            row = _measured(dict(genotype.configuration), found[one.ident], seconds)
            yield replace(row, finished=stored_at[one.ident])


def stored_rest(store: Store, subject: Subject | None) -> float | None:
    """Bound the speed-up of unmeasured configurations over the best one of a run of `tune`.

    Args:
        store: database of the run.
        subject: subject of the run; None if it can no longer be read.

    Returns:
        See :func:`~gi_cuda.tune.rest.rest_speedup`. The result is also 0 if the search space is
        used up, and also None if the run is not one of `tune`.
    """
    if subject is None or not tunes(stored_plan(store).preset):
        return None
    if store.get("used_up", False):
        return 0.0
    grid = Grid.of_space(subject.space)
    return rest_speedup(grid, _costs(store, subject, grid))


def goal_of(store: Store, subject: Subject) -> Callable[[], bool] | None:
    """Return a function that tells whether a run has reached its ``--until``; None without it."""
    share = store.get("until", None)
    if share is None:
        return None
    grid = Grid.of_space(subject.space)
    goal = Goal(grid, share)
    return lambda: goal.reached(_costs(store, subject, grid))


def _costs(store: Store, subject: Subject, grid: Grid) -> dict[Point, float | None]:
    return {grid.point(one.configuration): one.cost for one in measured(store, subject)}


def _measured(
    configuration: Mapping[str, Value], evaluation: Evaluation, seconds: float
) -> Measured:
    """Convert an evaluation to a record with times in milliseconds.

    Args:
        configuration: the configuration.
        evaluation: its evaluation, which holds ratios.
        seconds: time of the reference.
    """
    ratio = None if evaluation.verdict is None else evaluation.ratio
    return Measured(
        configuration,
        None if ratio is None else ratio * seconds * 1e3,
        _REASONS.get(evaluation.outcome, "runtime"),
        () if ratio is None else [1e3 * one for one in _times(evaluation.samples)],
        verify_s=evaluation.verify_seconds,
        benchmark_s=evaluation.run_seconds,
    )


def _times(samples: tuple[Sample, ...]) -> list[float]:
    """Return the total time over all cases of each timed run, seconds."""
    case = attrgetter("case")
    rows = [[one.variant for one in some] for _, some in groupby(sorted(samples, key=case), case)]
    return [sum(each) for each in zip(*rows, strict=False)]
