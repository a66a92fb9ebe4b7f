"""Basin hopping: descents whose ends are accepted as annealing accepts points."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers.anneal import accepts
from gi_cuda.tune.searchers.local import descend, jump
from gi_cuda.tune.walk import Best, Walk, Walker, sample

HEAT = 0.1
"""The temperature, as a difference of the logarithm of the cost."""


def hop(grid: Grid, rng: random.Random) -> Walk:
    """Hop from the end of a descent to the start of another."""
    home: Best = None
    while True:
        while home is None:
            home = yield from sample(grid, rng)
        end = yield from descend(grid, rng, jump(grid, rng, home[1]))
        if end and accepts(rng, home[0], end[0], HEAT):
            home = end


SEARCHER = SearcherKind("basin", "basin hopping", partial(Walker, walk=hop))
