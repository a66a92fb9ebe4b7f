"""Rank statistics that compare two samples of unknown distribution, such as results of searches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

EXACT = 8
"""Size of the smaller sample up to which :func:`mann_whitney` is exact, if there are no ties."""


def a12(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Return Vargha and Delaney's effect size A12 (2000).

    A12 is the share of pairs in which the value of ``mine`` is larger, ties counted as half. 0.5
    means no difference.
    """
    return _wins(mine, theirs) / (len(mine) * len(theirs))


def _wins(mine: Sequence[float], theirs: Sequence[float]) -> float:
    return sum((one > other) + (one == other) / 2 for one, other in product(mine, theirs))


def mann_whitney(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the two-sided p-value of the Mann-Whitney U test.

    The p-value is exact if there are no ties and the smaller sample has at most :data:`EXACT`
    values. Otherwise it comes from the normal approximation with tie and continuity corrections, as
    in ``scipy.stats.mannwhitneyu``.
    """
    n, m = len(mine), len(theirs)
    wins = _wins(mine, theirs)
    larger = max(wins, n * m - wins)
    ties = [count for count in Counter([*mine, *theirs]).values() if count > 1]
    if not ties and min(n, m) <= EXACT:
        ways = _ways(n, m)
        return min(1.0, 2 * sum(ways[math.ceil(larger) :]) / sum(ways))
    total = n + m
    tied = sum(count**3 - count for count in ties) / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - tied))
    if deviation == 0:
        return 1.0  # all alike
    z = (larger - n * m / 2 - 0.5) / deviation
    return min(1.0, math.erfc(z / math.sqrt(2)))


def _ways(n: int, m: int) -> list[int]:
    """Count the orders of n and m values by U, the number of wins of the first n.

    Element u of the list, u from 0 to n * m, is the number of orders with that U.
    """
    # The Gaussian binomial coefficient: one factor (1 - q^(m+i)) / (1 - q^i) after the other.
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for at in range(n * m, m + i - 1, -1):
            ways[at] -= ways[at - m - i]
        for at in range(i, n * m + 1):
            ways[at] += ways[at - i]
    return ways


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = least
    return corrected
