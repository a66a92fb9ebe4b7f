"""Random points, none twice."""

from __future__ import annotations

from gi_cuda.tune.grid import Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import Unrepeated


class Random(Unrepeated):
    """A searcher that asks random points."""

    def wanted(self, first: bool) -> Point | None:
        """Want no point in particular."""
        return None


SEARCHER = SearcherKind("random", "random configurations, none twice", Random)
