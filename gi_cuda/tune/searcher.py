"""The interface of a searcher: which configurations are measured next."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

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


@dataclass(frozen=True, slots=True)
class SearcherKind:
    """A way to search a grid.

    Attributes:
        name: what ``--searcher`` takes.
        help: what it does, in a few words.
        make: begins a search.
    """

    name: str
    help: str
    make: Callable[[Grid, random.Random], Searcher]
