"""Simulated annealing of the logarithm of the cost."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Walk, Walker

HOT, COLD = 0.5, 0.01
"""Temperatures, as differences of the logarithm of the cost."""

COOLING = 0.97
"""Factor of the temperature, for each result; when it is cold, it is heated again."""


def anneal(grid: Grid, rng: random.Random) -> Walk:
    """Walk to neighbours, also to slower ones while the temperature is high."""
    here: tuple[float, Point] | None = None
    best: tuple[float, Point] | None = None
    heat = HOT
    while True:
        if here is None:
            results = yield [point for point in [grid.draw(rng)] if point is not None]
        else:
            near, far = grid.neighbours(here[1], 1), grid.neighbours(here[1])
            results = yield rng.sample(near, len(near) // 2) + rng.sample(far, len(far))
        for point, cost in results:
            if cost < FAILED and (here is None or accepts(rng, here[0], cost, heat)):
                here = cost, point
                best = min(best or here, here)
            heat *= COOLING
        if heat < COLD:
            heat, here = HOT, best


def accepts(rng: random.Random, old: float, new: float, heat: float) -> bool:
    """Tell whether annealing goes from a cost to another: always if that is lower.

    Args:
        heat: the temperature, as a difference of the logarithm of the cost.
    """
    return new <= old or rng.random() < (old / new) ** (1.0 / heat)


SEARCHER = SearcherKind("anneal", "simulated annealing", partial(Walker, walk=anneal))
