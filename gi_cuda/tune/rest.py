"""Bound the speed-up that unmeasured configurations of a space may have over the best measured."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np

from gi_cuda.tune.gaussian import Array
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searchers.bayes import Bayes

CONFIDENCE = 0.95
"""Share of claims that should be true."""

WIDER = 1.4
"""Factor for the standard deviations of the model. It is the smallest multiple of 0.1 at which 95 %
of the claims are true on each recorded space that was used to choose it; see
``docs/results/tuning-rest.md``.
"""

LEAST = 24
"""Number of measured configurations that a claim needs. Half of them must be correct."""

FITS = 2
"""Rounds of fitting the model."""

GROWTH = 1.2
"""Factor by which the number of measured configurations grows until a goal is checked again."""

_STEPS = 30
"""Bisection steps for the bound."""

_FAR = 7.0
"""Standard deviations beyond which a probability is ignored; it is below 2e-12."""

_SURE = f"with {100 * CONFIDENCE:g} % confidence"


def rest_speedup(
    grid: Grid, costs: Mapping[Point, float | None], wider: float = WIDER
) -> float | None:
    """Bound the speed of the best unmeasured point of a space, whatever searcher chose the points.

    A Gaussian process is fitted to the logarithms of the measured costs. All unmeasured points stay
    below the bound with probability :data:`CONFIDENCE` if their costs are independent. The costs of
    neighbours are not independent, so the true probability is higher.

    Args:
        grid: the configuration space.
        costs: costs of the measured points; None: the point failed.
        wider: factor for the model's standard deviations.

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
    """Describe the result of :func:`rest_speedup` in words."""
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
    """A criterion to end a search: the best measured point is nearly as fast as any unmeasured one.

    Args:
        grid: the configuration space.
        share: required speed of the best measured point, as a fraction of the speed that the
            fastest unmeasured point may have, for example 0.95.
    """

    def __init__(self, grid: Grid, share: float) -> None:
        self._grid, self._share = grid, share
        self._due = float(LEAST)

    def reached(self, costs: Mapping[Point, float | None]) -> bool:
        """Tell whether the criterion holds with confidence :data:`CONFIDENCE`.

        The criterion is computed only when the number of measured points has grown by
        :data:`GROWTH`; otherwise the result is False.
        """
        if len(costs) < self._due:
            return False
        self._due = GROWTH * len(costs)
        found = rest_speedup(self._grid, costs)
        return found is not None and found * self._share <= 1.0


def _least(means: Array, deviations: Array, share: float) -> float:
    """Return the value below the minimum of independent normal values, with `CONFIDENCE`.

    Args:
        means, deviations: of each given value.
        share: share of all values that are given.
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
