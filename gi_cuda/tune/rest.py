"""How much faster than the best measured configuration the rest of a space may be."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np

from gi_cuda.tune.gaussian import Array
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searchers.bayes import Bayes

CONFIDENCE = 0.95
"""How often a claim is to be true."""

WIDER = 1.4
"""Factor of the standard deviations of the model: the smallest, in tenths, with which 95 % of the
claims are true on each of the recorded spaces that it was chosen on: see
``docs/results/tuning-rest.md``.
"""

LEAST = 24
"""Measured configurations that a claim needs, of which half are correct."""

FITS = 2
"""Rounds of fitting the model."""

GROWTH = 1.2
"""Factor by which measured configurations grow until a goal is checked again."""

_STEPS = 30
"""Halvings of the interval that holds the bound."""

_FAR = 7.0
"""Standard deviations beyond which a chance is ignored: it is below 2e-12."""

_SURE = f"with {100 * CONFIDENCE:g} % confidence"


def rest_speedup(
    grid: Grid, costs: Mapping[Point, float | None], wider: float = WIDER
) -> float | None:
    """Bound the speed of the best unmeasured point of a space, whatever searcher chose the points.

    A Gaussian process is fitted to the logarithms of the measured costs. The bound is the speed
    that all unmeasured points stay below with a chance of :data:`CONFIDENCE`, if their costs
    were independent. (Neighbours' costs are not, so that this chance is underestimated.)

    Args:
        costs: of the measured points; None: the point failed.
        wider: factor of the standard deviations.

    Returns:
        Speed over that of the best measured point; 0: all points are measured; None: too few
        points are measured.
    """
    right = sum(cost is not None for cost in costs.values())
    if len(costs) < LEAST or right < LEAST / 2:
        return 0.0 if costs and right and len(costs) == grid.size else None
    model = Bayes(grid, random.Random(0))
    for point, cost in costs.items():
        model.tell(point, cost)
    means, deviations = model.forecast(FITS)
    if not len(means):
        return 0.0
    listed = model.listing is not None
    size = grid.size if listed else math.prod(grid.shape)
    share = len(means) / max(size - len(costs), len(means))
    return math.exp(-_least(means, wider * deviations, share))


def rest_words(speedup: float | None) -> str:
    """Say what :func:`rest_speedup` found."""
    if speedup is None:
        return "too few configurations are measured to say how much faster the rest may be"
    if not speedup:
        return "no configuration is left to be measured"
    if speedup <= 1.0:
        return f"{_SURE}, no other configuration is faster than the best one measured"
    return (
        f"{_SURE}, the rest of the space is at most {speedup:.3g} times as fast as the best"
        " configuration measured"
    )


class Goal:
    """A share of the speed of the best of the rest, at which a search ends.

    Args:
        share: e.g. 0.95.
    """

    def __init__(self, grid: Grid, share: float) -> None:
        self._grid, self._share = grid, share
        self._due = float(LEAST)

    def reached(self, costs: Mapping[Point, float | None]) -> bool:
        """Tell whether the best has that share, with confidence; checked now and then only."""
        if len(costs) < self._due:
            return False
        self._due = GROWTH * len(costs)
        found = rest_speedup(self._grid, costs)
        return found is not None and found * self._share <= 1.0


def _least(means: Array, deviations: Array, share: float) -> float:
    """Return the value that the least of independent normal values is above, with the confidence.

    Args:
        share: of all values that are given.
    """
    chance = -math.log(CONFIDENCE) * share
    low, high = float((means - _FAR * deviations).min()), float(means.min())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        z = (middle - means) / deviations
        below = [0.5 * math.erfc(-one / math.sqrt(2.0)) for one in z[z > -_FAR].tolist()]
        if -np.log1p(-np.minimum(below, 1.0 - 1e-12)).sum() > chance:
            high = middle
        else:
            low = middle
    return low
