"""Basin hopping: descents whose ends are accepted as annealing accepts points."""

from __future__ import annotations

import math
import random
from functools import partial

from gi_cuda.tune.grid import Grid
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers.local import jump
from gi_cuda.tune.walk import FAILED, Walk, Walker

HEAT = 0.1
"""The temperature, as a difference of the logarithm of the cost."""


def hop(grid: Grid, rng: random.Random) -> Walk:
    """Hop from the end of a descent to the start of another."""
    home, home_cost = grid.draw(rng), FAILED
    start = home
    while home is not None and start is not None:
        results = yield [start]
        point, cost = start, FAILED
        todo = [start]
        while todo:
            for other, measured in results:
                if measured < cost:
                    point, cost, todo = other, measured, grid.neighbours(other, 1)
                    rng.shuffle(todo)
            seen = {other for other, _ in results}
            todo = [other for other in todo if other not in seen]
            if todo:
                results = yield todo
                if not results:
                    break
        rise = math.log(cost / home_cost) if FAILED > max(cost, home_cost) > 0 else 0.0
        if cost < FAILED and (rise <= 0 or rng.random() < math.exp(-rise / HEAT)):
            home, home_cost = point, cost
        start = jump(grid, rng, home) if home_cost < FAILED else grid.draw(rng)


SEARCHER = SearcherKind("basin", "basin hopping", partial(Walker, walk=hop))
