"""Base of searchers: no point is asked twice, and searches can be written as generators."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from typing import TypeAlias

from gi_cuda.tune.grid import Grid, Point

LISTED = 200_000
"""Largest grid whose points are listed."""

FAILED = float("inf")
"""Cost of points that do not compile, do not run, or are wrong."""

Results: TypeAlias = list[tuple[Point, float]]
Best: TypeAlias = tuple[float, Point] | None
"""A cost below :data:`FAILED` and its point, or None if there is none."""

Part: TypeAlias = Generator[Iterable[Point], Results, Best]
"""A part of a :data:`Walk` that returns the cheapest point it met."""

Walk: TypeAlias = Generator[Iterable[Point], Results, None]
"""A search that yields points to measure, the most wanted first, and is sent costs.

Not all points that it yields are measured. Costs may belong to points that it yielded earlier, or
that were asked to fill a batch. Nothing may have been measured: it is sent an empty list.
"""

SAMPLE = 10
"""Number of random points at the beginning; the search starts from the cheapest of them."""

_DRAWS = 1000
"""Largest number of random draws to find a point that was not asked yet."""

_ROUNDS = 10
"""Number of times that a walk may yield nothing new before a random point is asked."""


def sample(grid: Grid, rng: random.Random) -> Part:
    """Measure random points, and return the cheapest."""
    drawn = (grid.draw(rng) for _ in range(SAMPLE))
    todo = {point: None for point in drawn if point is not None}
    best: Best = None
    while results := (yield list(todo)):
        for point, cost in results:
            todo.pop(point, None)
            if cost < FAILED:
                best = min(best or (cost, point), (cost, point))
        if not todo:
            break
    return best


class Unrepeated(ABC):
    """Base class of searchers that ask no point twice. Subclasses choose the points.

    Attributes:
        grid: the grid.
        rng: random generator.
        costs: cost of each point that was told; :data:`FAILED` for a failed point.
        asked: all points that were asked or told, in order.
        listing: all points of the grid, or None if there are too many.
    """

    def __init__(self, grid: Grid, rng: random.Random) -> None:
        self.grid = grid
        self.rng = rng
        self.costs: dict[Point, float] = {}
        self.asked: dict[Point, None] = {}
        self._order: list[int] | None = None
        self.listing = grid.listing(LISTED)

    def ask(self, number: int) -> list[Point]:
        """Return points to measure next; see :class:`~gi_cuda.tune.searcher.Searcher`."""
        found: list[Point] = []
        while len(found) < number:
            point = self.wanted(not found) or self.unasked()
            if point is None:
                break
            self.asked[point] = None
            self.noted(point)
            found.append(point)
        return found

    def tell(self, point: Point, cost: float | None) -> None:
        """Receive the cost of a point, which need not have been asked."""
        self.asked[point] = None
        self.costs[point] = FAILED if cost is None else cost

    @abstractmethod
    def wanted(self, first: bool) -> Point | None:
        """Return a point that was not asked yet, or None for a random point.

        Args:
            first: whether the point is the first of its batch.
        """

    def noted(self, point: Point) -> None:
        """React to a point that is asked; a hook for subclasses."""
        return

    def unasked(self) -> Point | None:
        """Return a random point that was not asked yet; None if there is none."""
        if self.listing is None:
            for _ in range(_DRAWS):
                point = self.grid.draw(self.rng)
                if point is not None and point not in self.asked:
                    return point
            return None
        if self._order is None:
            self._order = list(range(len(self.listing)))
            self.rng.shuffle(self._order)
        while self._order:
            point = tuple(self.listing[self._order[-1]].tolist())
            if point not in self.asked:
                return point
            self._order.pop()
        return None


class Walker(Unrepeated):
    """A searcher that follows a :data:`Walk`.

    Args:
        walk: begins the walk.
    """

    def __init__(
        self, grid: Grid, rng: random.Random, walk: Callable[[Grid, random.Random], Walk]
    ) -> None:
        super().__init__(grid, rng)
        self._walk = walk(grid, rng)
        self._queue: list[Point] = list(next(self._walk, ()))[::-1]
        self._results: Results = []

    def tell(self, point: Point, cost: float | None) -> None:
        """Receive the cost of a point."""
        super().tell(point, cost)
        self._results.append((point, self.costs[point]))

    def wanted(self, first: bool) -> Point | None:
        """Return the next point of the walk that was not asked yet."""
        if first and self._results:
            self._advance()
        for _ in range(_ROUNDS):
            while self._queue:
                point = self._queue.pop()
                if point not in self.asked:
                    return point
                if point in self.costs:  # A walk may come back; that costs no measurement.
                    self._results.append((point, self.costs[point]))
            if not self._results:
                return None
            self._advance()
        return None

    def _advance(self) -> None:
        results, self._results = self._results, []
        try:
            self._queue = list(self._walk.send(results))[::-1]
        except StopIteration:
            self._queue = []
