"""Ratios of paired times and what may be concluded from them.

Variant and reference are timed in turn, so that a disturbance meets both; a pair's ratio is
``variant / reference`` and below 1 where the variant is faster.

Quantiles and ranks are computed here: scipy.special would add 0.1 s to the start of every worker
and command, scipy.stats 0.4 s.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gi_cuda.results.measurement import Sample

SHOWN = 0.95
"""The confidence of intervals that are shown and stored."""


def ratios(samples: Sequence[Sample]) -> np.ndarray:
    """One ratio per repetition: the geometric mean over the cases of variant / reference.

    Shape ``(repetitions,)``; repetitions that did not reach every case are left out.
    """
    by_case: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        by_case[sample.case].append(sample.variant / sample.reference)
    if not by_case:
        return np.empty(0)
    shortest = min(map(len, by_case.values()))
    table = np.array([values[:shortest] for values in by_case.values()])
    return np.asarray(np.exp(np.log(table).mean(axis=0)))


def medians(rows: np.ndarray) -> np.ndarray:
    """The median of each row, finite numbers all; of many short rows in a fifth of the time that
    ``np.median`` takes."""
    ordered, count = np.sort(rows, axis=-1), rows.shape[-1]
    return np.asarray((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2)


def central(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """The quantiles between which a share of the values lies, as many beyond either; what
    ``np.quantile`` gives, in a third of the time for a few thousand values."""
    ordered, tail = np.sort(values), (1 - confidence) / 2
    places = np.array([tail, 1 - tail]) * (len(values) - 1)
    low, high = np.interp(places, np.arange(len(values)), ordered)
    return (float(low), float(high))


@lru_cache(maxsize=1024)
def _rank(count: int, confidence: float) -> int:
    """Largest r so that the r-th smallest and r-th largest of ``count`` enclose the median."""
    tail, best = 0.0, 0
    for r in range(count // 2 + 1):
        tail += math.comb(count, r) / 2.0**count
        if 2 * tail > 1 - confidence:
            break
        best = r + 1
    return best


def median_interval(values: np.ndarray, confidence: float = SHOWN) -> tuple[float, float]:
    """Distribution-free interval of the median from order statistics (sign test).

    Infinite where there are too few values for the confidence asked.
    """
    rank = _rank(len(values), confidence)
    if rank == 0:
        return (-math.inf, math.inf)
    ordered = np.sort(values)
    return (float(ordered[rank - 1]), float(ordered[-rank]))


@lru_cache(maxsize=64)
def _student(freedom: int, confidence: float) -> float:
    """The two-sided quantile of Student's t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""

    def within(t: float) -> float:
        angle = math.atan(t / math.sqrt(freedom))
        term = total = math.cos(angle) if freedom % 2 else 1.0
        for k in range(3 if freedom % 2 else 2, freedom, 2):
            term *= math.cos(angle) ** 2 * (k - 1) / k
            total += term
        if freedom % 2:
            return 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0))
        return math.sin(angle) * total

    low, high = 0.0, 2.0
    while within(high) < confidence:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < confidence else (low, middle)
    return high


_FEWEST = 4
"""Values that show how they scatter; with three, luck makes intervals too short or endless."""


def ratio_interval(values: np.ndarray, confidence: float = SHOWN) -> tuple[float, float]:
    """The interval of a ratio from pairs: that of the median (:func:`median_interval`), or where
    there are too few for it but some, Student's for the mean of the logarithms.

    The latter takes the logarithms as normally distributed. Times are not; but among so few an
    outlier widens the interval many times, and then more pairs are asked for.

    Args:
        values: ratios, all positive.
    """
    if len(values) < _FEWEST or _rank(len(values), confidence) > 0:
        return median_interval(values, confidence)
    logs = np.log(values)
    half = _student(len(logs) - 1, confidence) * logs.std(ddof=1) / math.sqrt(len(logs))
    middle = logs.mean()
    return (float(np.exp(middle - half)), float(np.exp(middle + half)))


@lru_cache(maxsize=64)
def _rank_of_repeats(count: int, confidence: float) -> int:
    """Largest r so that the r-th smallest and r-th largest of ``count`` values enclose the median
    of as many others, drawn like them.

    That median lies below the r-th smallest if half of the others do: if among the first so many
    of all values in order there are fewer than r of these.
    """
    others = [(count + 1) // 2, count // 2 + 1]  # the median is the mean of the two
    best = 0
    for r in range(1, count // 2 + 1):
        beyond = np.mean([_few_first(count, half, r) for half in others])
        if 2 * beyond > 1 - confidence:
            break
        best = r
    return best


def _few_first(count: int, half: int, r: int) -> float:
    """The chance that ``half`` of the others lie below the r-th of these, ``count`` of each."""
    first = half + r - 1
    ways = sum(math.comb(count, mine) * math.comb(count, first - mine) for mine in range(r))
    return ways / math.comb(2 * count, first)


_OF_TWO_MEDIANS = math.pi
"""The variance of the difference of two medians of n normal values is n times smaller than this
multiple of that of one value; π/2 for each."""


def repeat_interval(
    clusters: Sequence[np.ndarray], confidence: float = SHOWN
) -> tuple[float, float]:
    """Where the median over clusters of each cluster's median will lie if all of it is done again.

    Values within a cluster share what belongs to one process and build, so each cluster counts as
    one value, however many are in it. The interval is from order statistics, without any assumption
    on how they scatter; of few clusters, Student's prediction for their logarithms. It is wider
    than an interval for the median itself, which it contains all the more.

    Args:
        clusters: one array of positive ratios, of shape ``(n,)``, for each; of a single one the
            interval of its median is all that can be told (:func:`ratio_interval`).
    """
    if len(clusters) == 1:
        return ratio_interval(clusters[0], confidence)
    values = np.array([medians(one) for one in clusters])
    rank = _rank_of_repeats(len(values), confidence)
    if rank > 0:
        ordered = np.sort(values)
        return (float(ordered[rank - 1]), float(ordered[-rank]))
    logs = np.log(values)
    ends = float(values.min()), float(values.max())  # a higher confidence is no narrower
    scatter = logs.std(ddof=1) * math.sqrt(_OF_TWO_MEDIANS / len(logs))
    half = _student(len(logs) - 1, confidence) * scatter
    middle = float(np.median(logs))
    return (min(ends[0], math.exp(middle - half)), max(ends[1], math.exp(middle + half)))
