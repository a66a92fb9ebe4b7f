"""The interface of searchers, which choose the configurations to measure next."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid, Point


class Searcher(Protocol):
    """A search of a grid, with an ask-and-tell interface.

    A searcher must be deterministic: its points depend only on its random generator and on the
    sequence of calls of `ask` and `tell`. Then a resumed search continues as it would have. Costs
    of points may be told late, in another order, or never.
    """

    def ask(self, number: int) -> list[Point]:
        """Return `number` points to measure next; fewer if the grid has no more.

        None of the points was asked or told before.
        """

    def tell(self, point: Point, cost: float | None) -> None:
        """Receive the cost of a point, which the search minimizes.

        Args:
            point: the point.
            cost: in general its time divided by the reference's; None: the point does not compile,
                does not run, or is wrong.
        """


@runtime_checkable
class Profiled(Searcher, Protocol):
    """A searcher that uses counters of the points that were measured."""

    def profiled(self, point: Point, counters: Counters) -> None:
        """Receive the counters of a point, before its cost."""


def tell(searcher: Searcher, point: Point, cost: float | None, counters: Counters) -> None:
    """Tell a searcher the cost of a point, and its counters if the searcher uses them."""
    if counters and isinstance(searcher, Profiled):
        searcher.profiled(point, counters)
    searcher.tell(point, cost)


def _demand_nothing(grid: Grid) -> None:
    """Accept any grid."""


@dataclass(frozen=True, slots=True)
class SearcherKind:
    """A kind of searcher.

    Attributes:
        name: value of the option ``--searcher``.
        help: description in a few words.
        make: makes a searcher of a grid, with a random generator.
        demand: raises UserError if the searcher cannot search a grid.
    """

    name: str
    help: str
    make: Callable[[Grid, random.Random], Searcher]
    demand: Callable[[Grid], object] = _demand_nothing
