"""Simulated annealing of the logarithm of the cost."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Best, Walk, Walker, sample

HOT, COLD = 0.2, 0.01
"""Temperatures, as differences of the logarithm of the cost."""

COOLING = 0.97
"""Factor of the temperature, for each result; when it is cold, it is heated again."""


def anneal(grid: Grid, rng: random.Random) -> Walk:
    """Walk to neighbours, also to slower ones while the temperature is high."""
    here: Best = None
    while here is None:
        here = yield from sample(grid, rng)
    best, heat = here, HOT
    while True:
        near, far = grid.neighbours(here[1], 1), grid.neighbours(here[1])
        results = yield rng.sample(near, len(near) // 2) + rng.sample(far, len(far))
        for point, cost in results:
            if cost < FAILED and accepts(rng, here[0], cost, heat):
                here = cost, point
                best = min(best, here)
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
