"""Every point, in lexical order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind


class Exhaustive:
    """A searcher that asks all points of a grid, one after the other."""

    def __init__(self, grid: Grid, rng: random.Random) -> None:
        self._told: set[Point] = set()
        self._points: Iterator[Point] = (one for one in grid.each() if one not in self._told)

    def ask(self, number: int) -> list[Point]:
        """Return the next points in lexical order."""
        return list(islice(self._points, number))

    def tell(self, point: Point, cost: float | None) -> None:
        """Take note that a point need not be asked: the order is fixed."""
        self._told.add(point)


SEARCHER = SearcherKind("exhaustive", "all configurations, in lexical order", Exhaustive)
