"""Basin hopping: descents whose ends are accepted as annealing accepts points."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers.anneal import accepts
from gi_cuda.tune.searchers.local import descend, jump
from gi_cuda.tune.walk import Walk, Walker

HEAT = 0.1
"""The temperature, as a difference of the logarithm of the cost."""


def hop(grid: Grid, rng: random.Random) -> Walk:
    """Hop from the end of a descent to the start of another."""
    home: tuple[float, Point] | None = None
    while True:
        start = jump(grid, rng, home[1]) if home else grid.draw(rng)
        if start is None:
            return
        end = yield from descend(grid, rng, start)
        if end and (home is None or accepts(rng, home[0], end[0], HEAT)):
            home = end


SEARCHER = SearcherKind("basin", "basin hopping", partial(Walker, walk=hop))
