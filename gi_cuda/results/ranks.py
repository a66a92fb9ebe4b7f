"""Which of two samples is the larger one, by ranks alone: for runs of searches, of which there are
few and whose results have no known distribution."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

EXACT = 8
"""Up to so many values in the smaller sample, without ties, all orders are counted."""


def a12(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """How often a value of the first is larger than one of the other, ties as half: the measure of
    Vargha and Delaney (2000). 0.5 is no difference."""
    return _wins(mine, theirs) / (len(mine) * len(theirs))


def _wins(mine: Sequence[float], theirs: Sequence[float]) -> float:
    return sum((one > other) + (one == other) / 2 for one, other in product(mine, theirs))


def mann_whitney(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """The p-value of the test of Mann and Whitney that there is no difference, on both sides.

    Exact for few values without ties; else by the normal distribution, with the corrections for
    ties and continuity: as ``scipy.stats.mannwhitneyu`` does.
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
    """In how many orders of n and m values the first win so many times, from 0 to n * m."""
    # The Gaussian binomial coefficient: one factor (1 - q^(m+i)) / (1 - q^i) after the other.
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for at in range(n * m, m + i - 1, -1):
            ways[at] -= ways[at - m - i]
        for at in range(i, n * m + 1):
            ways[at] += ways[at - i]
    return ways


def holm(p_values: Sequence[float]) -> list[float]:
    """What each of several p-values is once their number is taken into account (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = least
    return corrected
