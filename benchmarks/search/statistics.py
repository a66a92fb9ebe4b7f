"""Statistical comparison of two searches by several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

from scipy.stats import mannwhitneyu

from benchmarks.search.races import Race


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two searches, by the evaluations that each needed.

    Attributes:
        median, other: the medians; infinite if fewer than half of the runs found the improvement.
        found: number of runs that found it.
        a12: probability that a run of the first needs fewer than one of the other, ties as half:
            the
            measure of Vargha and Delaney (2000). 0.5 is no difference.
        p: p value of the two-sided Mann-Whitney test.
    """

    median: float
    other: float
    found: int
    a12: float
    p: float


def needed(races: Sequence[Race]) -> list[float]:
    """Return the evaluations that each run needed; infinite if it found nothing."""
    return [float("inf") if one.found is None else float(one.found) for one in races]


def compare(races: Sequence[Race], others: Sequence[Race]) -> Comparison:
    """Compare the first search with the other one."""
    mine, theirs = needed(races), needed(others)
    return Comparison(
        median(mine),
        median(theirs),
        sum(one.found is not None for one in races),
        a12(mine, theirs),
        _mann_whitney(mine, theirs),
    )


def a12(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the probability that a value of the first is smaller, ties as half."""
    pairs = list(product(mine, theirs))
    return sum((one < other) + (one == other) / 2 for one, other in pairs) / len(pairs)


def _mann_whitney(mine: Sequence[float], theirs: Sequence[float]) -> float:
    if len({*mine, *theirs}) == 1:
        return 1.0  # all alike
    return float(mannwhitneyu(mine, theirs, alternative="two-sided").pvalue)
