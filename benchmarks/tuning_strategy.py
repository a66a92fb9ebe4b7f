"""A searcher of gi-cuda as a user-defined strategy of Kernel Tuner.

Kernel Tuner loads this file by its path: ``custom_search_method_path``, with the class's name as
the strategy. :mod:`benchmarks.tuning_methodology` does so.
"""

import random

from gi_cuda.tune.grid import Grid
from gi_cuda.tune.searchers import DEFAULT, find_searcher

FAILED = 1e19
"""Kernel Tuner gives configurations that fail a cost beyond this."""


class GiCuda:
    """A search by one searcher, point by point, until the budget is spent.

    Args:
        searcher: its name.
    """

    constraint_aware = False

    def __init__(self, searcher=DEFAULT):
        self.costfunc_kwargs = {"scaling": False, "snap": False}
        self._kind = find_searcher(searcher, "searcher")

    def __call__(self, func, searchspace):
        """Ask for points and tell their costs; ``func`` raises an exception at the end."""
        values = tuple(tuple(some) for some in searchspace.tune_params.values())
        places = [{value: at for at, value in enumerate(some)} for some in values]
        listed = frozenset(
            tuple(place[value] for place, value in zip(places, one, strict=True))
            for one in searchspace.list
        )
        grid = Grid(tuple(searchspace.tune_params), values, listed=listed)
        searcher = self._kind.make(grid, random.Random(random.random()))
        while points := searcher.ask(1):
            for point in points:
                cost = func(tuple(some[at] for some, at in zip(values, point, strict=True)))
                searcher.tell(point, cost if cost < FAILED else None)
