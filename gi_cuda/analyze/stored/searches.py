"""Compare kinds of search by several runs on one target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gi_cuda.analyze.stored.milestones import Milestone
from gi_cuda.analyze.stored.whole_run import WholeRun
from gi_cuda.errors import UserError
from gi_cuda.results.ranks import a12, holm, mann_whitney


@dataclass(frozen=True, slots=True)
class Curve:
    """Certain speed-ups of searches of one kind against evaluations, over their runs.

    Attributes:
        evaluations: numbers of evaluations.
        low, middle, high: quartiles of the certain speed-up at each number of evaluations.
    """

    evaluations: tuple[int, ...]
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """The runs of one kind of search.

    Attributes:
        name: preset, edits, generations and population.
        runs: folders of the runs.
        found: speed-up of each run's winner on the held-out cases; 1 without a winner.
        low, median, high: quartiles of `found`.
    """

    name: str
    runs: tuple[str, ...]
    found: tuple[float, ...]
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Pairing:
    """Comparison of two kinds of search.

    Attributes:
        first, second: names of the kinds.
        a12: probability that a run of the first finds more than a run of the second, ties as half.
        p: p-value of the Mann-Whitney test.
        corrected: p-value, corrected for the number of tests (Holm).
    """

    first: str
    second: str
    a12: float
    p: float
    corrected: float


@dataclass(frozen=True, slots=True)
class Searches:
    """Comparison of several kinds of search."""

    kinds: tuple[Kind, ...]
    pairings: tuple[Pairing, ...]


def compare_searches(found: Iterable[tuple[str, str, float]]) -> Searches:
    """Compare kinds of search.

    Args:
        found: kind, folder and winner's speed-up of each run.
    """
    by_kind: dict[str, list[tuple[str, float]]] = {}
    for kind, run, worth in found:
        by_kind.setdefault(kind, []).append((run, worth))
    kinds = tuple(_of_kind(name, some) for name, some in by_kind.items())
    pairs = list(combinations(kinds, 2))
    p_values = [mann_whitney(one.found, other.found) for one, other in pairs]
    return Searches(
        kinds,
        tuple(
            Pairing(one.name, other.name, a12(one.found, other.found), p, corrected)
            for (one, other), p, corrected in zip(pairs, p_values, holm(p_values), strict=True)
        ),
    )


def _of_kind(name: str, runs: Sequence[tuple[str, float]]) -> Kind:
    found = tuple(worth for _, worth in runs)
    low, median, high = map(float, np.percentile(found, (25, 50, 75)))
    return Kind(name, tuple(run for run, _ in runs), found, low, median, high)


def compare_runs(runs: Sequence[WholeRun]) -> Searches:
    """Compare the kinds of search of stored runs.

    Raises:
        UserError: the runs are not of one target on one device.
    """
    first = runs[0].record
    for run in runs[1:]:
        one = run.record
        if one.target_hash != first.target_hash:
            differs = f"its target is {one.target}, not {first.target} as it was for {first.run}"
        elif one.device != first.device:
            differs = f"it is of {one.device}, and {first.run} of {first.device}"
        else:
            continue
        raise UserError(differs, where=one.run, hint="write a page for each")
    return compare_searches((one.search.kind, one.folder, worth(one)) for one in runs)


def worth(run: WholeRun) -> float:
    """Return the speed-up of a run's winner on the held-out cases; 1 without a winner."""
    winner = run.record.winner
    return winner.validation.overall.value if winner and winner.validation.overall else 1.0


def curves(runs: Sequence[WholeRun]) -> Mapping[str, Curve]:
    """Return the certain speed-up against evaluations for each kind of search."""
    by_kind: dict[str, list[Sequence[Milestone]]] = {}
    for run in runs:
        by_kind.setdefault(run.search.kind, []).append(run.search.milestones)
    return {name: _curve(some) for name, some in by_kind.items()}


def _curve(searches: Sequence[Sequence[Milestone]]) -> Curve:
    at = sorted({0, *(one.evaluations for search in searches for one in search)})
    reached = np.ones((len(searches), len(at)))
    for row, search in zip(reached, searches, strict=True):
        for one in search:
            # To the end of the row, so that a search that ended early keeps its value.
            row[np.searchsorted(at, one.evaluations) :] = one.speed_up or 1.0
    quartiles = np.percentile(reached, (25, 50, 75), axis=0)
    return Curve(tuple(at), *(tuple(map(float, row)) for row in quartiles))
