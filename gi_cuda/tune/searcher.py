"""The interface of a searcher: which configurations are measured next."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid, Point


class Searcher(Protocol):
    """A search of a grid, which is asked for points and told what they cost.

    It must follow from its generator and from what it was asked and told, in that order, so that a
    search that is resumed goes on as it would have. Points come back late, in another order, or
    never.
    """

    def ask(self, number: int) -> list[Point]:
        """Points to be measured next: so many, none of which was asked or told before; fewer where
        there are no more."""

    def tell(self, point: Point, cost: float | None) -> None:
        """Take what a point costs, which is to be small: as a rule its time over the reference's.

        Args:
            cost: None: it does not compile, does not run, or is wrong.
        """


@runtime_checkable
class Profiled(Searcher, Protocol):
    """A searcher that uses counters of the points that were measured."""

    def profiled(self, point: Point, counters: Counters) -> None:
        """Take the counters of a point, before what it costs."""


def tell(searcher: Searcher, point: Point, cost: float | None, counters: Counters) -> None:
    """Tell a searcher what a point costs, and its counters if the searcher uses them."""
    if counters and isinstance(searcher, Profiled):
        searcher.profiled(point, counters)
    searcher.tell(point, cost)


def _demand_nothing(grid: Grid) -> None:
    """Accept any grid."""


@dataclass(frozen=True, slots=True)
class SearcherKind:
    """A way to search a grid.

    Attributes:
        name: what ``--searcher`` takes.
        help: what it does, in a few words.
        make: begins a search.
        demand: raises UserError where it cannot search a grid.
    """

    name: str
    help: str
    make: Callable[[Grid, random.Random], Searcher]
    demand: Callable[[Grid], object] = _demand_nothing
