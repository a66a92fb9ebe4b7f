"""Ratios of paired times, with medians and confidence intervals.

Variant and reference are timed in turn, so that a disturbance affects both. A pair's ratio is
``variant / reference``; below 1, the variant is faster.

Quantiles and ranks are computed here, because importing scipy.special would add 0.1 s to the start
of every worker and command, and scipy.stats 0.4 s.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gi_cuda.results.measurement import Sample

SHOWN = 0.95
"""Confidence of intervals that are shown and stored."""


def ratios(samples: Sequence[Sample]) -> np.ndarray:
    """Return one ratio per repetition: the geometric mean over the cases of variant / reference.

    The shape is ``(repetitions,)``. Repetitions that did not reach every case are left out.
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
    """Return the median of each row of finite numbers.

    For many short rows this takes a fifth of the time of ``np.median``.
    """
    ordered, count = np.sort(rows, axis=-1), rows.shape[-1]
    return np.asarray((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2)


def central(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return the two quantiles that enclose the central share ``confidence`` of the values.

    The result equals that of ``np.quantile``, in a third of the time for a few thousand values.
    """
    ordered, tail = np.sort(values), (1 - confidence) / 2
    places = np.array([tail, 1 - tail]) * (len(values) - 1)
    low, high = np.interp(places, np.arange(len(values)), ordered)
    return (float(low), float(high))


@lru_cache(maxsize=1024)
def _rank(count: int, confidence: float) -> int:
    """Return the largest r such that the r-th smallest and r-th largest of ``count`` values enclose
    the median with the given confidence; 0 if there is none."""
    tail, best = 0.0, 0
    for r in range(count // 2 + 1):
        tail += math.comb(count, r) / 2.0**count
        if 2 * tail > 1 - confidence:
            break
        best = r + 1
    return best


def median_interval(values: np.ndarray, confidence: float = SHOWN) -> tuple[float, float]:
    """Return the distribution-free interval of the median, from order statistics (sign test).

    The interval is infinite if there are too few values for the confidence.
    """
    rank = _rank(len(values), confidence)
    if rank == 0:
        return (-math.inf, math.inf)
    ordered = np.sort(values)
    return (float(ordered[rank - 1]), float(ordered[-rank]))


@lru_cache(maxsize=64)
def _student(freedom: int, confidence: float) -> float:
    """Return the two-sided quantile of Student's t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""

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
"""Fewest values from which a standard deviation is estimated. With three, intervals come out too
short or far too long by chance."""


def ratio_interval(values: np.ndarray, confidence: float = SHOWN) -> tuple[float, float]:
    """Return the confidence interval of a ratio, from the ratios of pairs.

    The interval is that of the median (:func:`median_interval`). If there are too few values for
    it, but at least four, it is Student's interval for the mean of the logarithms. The latter
    assumes a normal distribution, which times do not have. But an outlier among so few values
    widens the interval many times, and the caller then measures more pairs.

    Args:
        values: ratios, all positive.
        confidence: confidence of the interval.
    """
    if len(values) < _FEWEST or _rank(len(values), confidence) > 0:
        return median_interval(values, confidence)
    logs = np.log(values)
    half = _student(len(logs) - 1, confidence) * logs.std(ddof=1) / math.sqrt(len(logs))
    middle = logs.mean()
    return (float(np.exp(middle - half)), float(np.exp(middle + half)))


@lru_cache(maxsize=64)
def _rank_of_repeats(count: int, confidence: float) -> int:
    """Return the largest r such that the r-th smallest and r-th largest of ``count`` values enclose
    the median of ``count`` new values from the same distribution.

    The new median lies below the r-th smallest old value if half of the new values do. In the
    sorted sequence of all values, fewer than r old values then come before that half.
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
    """Return the probability that at least ``half`` of ``count`` new values lie below the r-th
    smallest of ``count`` old values."""
    first = half + r - 1
    ways = sum(math.comb(count, mine) * math.comb(count, first - mine) for mine in range(r))
    return ways / math.comb(2 * count, first)


_OF_TWO_MEDIANS = math.pi
"""Factor in the variance of the difference of two medians of n normal values: the variance is this
factor times the variance of one value, divided by n. Each median contributes π/2."""


def repeat_interval(
    clusters: Sequence[np.ndarray], confidence: float = SHOWN
) -> tuple[float, float]:
    """Return a prediction interval for the median over clusters of each cluster's median.

    The interval says where that median will lie if all clusters are measured again. Values within a
    cluster share the effects of one process and build, so each cluster counts as one value. The
    interval comes from order statistics, without an assumption on the distribution; for few
    clusters, from Student's prediction for the logarithms. It is wider than a confidence interval
    for the median.

    Args:
        clusters: one array of positive ratios, of shape ``(n,)``, for each cluster. A single
            cluster gives only the interval of its median (:func:`ratio_interval`).
        confidence: confidence of the interval.
    """
    if len(clusters) == 1:
        return ratio_interval(clusters[0], confidence)
    values = np.array([medians(one) for one in clusters])
    rank = _rank_of_repeats(len(values), confidence)
    if rank > 0:
        ordered = np.sort(values)
        return (float(ordered[rank - 1]), float(ordered[-rank]))
    logs = np.log(values)
    # At least from smallest to largest value, so that a higher confidence is never narrower.
    ends = float(values.min()), float(values.max())
    scatter = logs.std(ddof=1) * math.sqrt(_OF_TWO_MEDIANS / len(logs))
    half = _student(len(logs) - 1, confidence) * scatter
    middle = float(np.median(logs))
    return (min(ends[0], math.exp(middle - half)), max(ends[1], math.exp(middle + half)))
