"""Simulated annealing of the logarithm of the cost."""

from __future__ import annotations

import math
import random
from functools import partial

from gi_cuda.tune.grid import Grid
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Walk, Walker

HOT, COLD = 0.5, 0.01
"""Temperatures, as differences of the logarithm of the cost."""

COOLING = 0.97
"""Factor of the temperature, for each result; when it is cold, it is heated again."""


def anneal(grid: Grid, rng: random.Random) -> Walk:
    """Walk to neighbours, also to slower ones while the temperature is high."""
    point, cost, heat = grid.draw(rng), FAILED, HOT
    results = yield [] if point is None else [point]
    best = (cost, point)
    while point is not None:
        for other, measured in results:
            rise = math.log(measured / cost) if FAILED > max(measured, cost) > 0 else 0.0
            if measured < FAILED and (rise <= 0 or rng.random() < math.exp(-rise / heat)):
                point, cost = other, measured
            best = min(best, (measured, other))
            heat *= COOLING
        if heat < COLD:
            heat = HOT
            cost, point = best
        near, far = grid.neighbours(point, 1), grid.neighbours(point)
        results = yield rng.sample(near, len(near) // 2) + rng.sample(far, len(far))


SEARCHER = SearcherKind("anneal", "simulated annealing", partial(Walker, walk=anneal))
