"""A search of a space that another tuner recorded, with the times that it measured."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from gi_cuda.tune.grid import Point
from gi_cuda.tune.records.recorded import Recorded
from gi_cuda.tune.rest import Goal, rest_speedup
from gi_cuda.tune.searcher import SearcherKind, tell

AT_ONCE = 8
"""Points that a searcher is asked for at a time."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A search of a recorded space.

    Attributes:
        recorded: the recorded space.
        searcher: name of the searcher.
        points: all points that it asked for, in order.
    """

    recorded: Recorded
    searcher: str
    points: tuple[Point, ...]

    @property
    def costs(self) -> list[float | None]:
        """Cost of each point, milliseconds; None for a failed point."""
        return [self.recorded.costs[point] for point in self.points]

    @property
    def seconds(self) -> float:
        """Recorded time for compiling and timing the points, seconds."""
        spent = (self.recorded.compile_seconds, self.recorded.benchmark_seconds)
        return sum(seconds.get(point, 0.0) for seconds in spent for point in self.points)

    @property
    def rest(self) -> float | None:
        """Bound of the speed of the rest of the space over the best; see :func:`rest_speedup`."""
        return rest_speedup(self.recorded.grid, dict(zip(self.points, self.costs, strict=True)))

    @property
    def true_rest(self) -> float:
        """Speed of the best unmeasured point over that of the best measured one.

        0 if no points are unmeasured, or if they all fail.
        """
        best = min((cost for cost in self.costs if cost is not None), default=math.inf)
        met = set(self.points)
        rest = [
            cost
            for point, cost in self.recorded.costs.items()
            if cost is not None and point not in met
        ]
        return best / min(rest) if rest else 0.0

    def improvements(self) -> Iterator[tuple[int, Point, float]]:
        """Yield each point that was better than all before it.

        Yields:
            Number of evaluations so far, the point, and its cost in milliseconds.
        """
        best = float("inf")
        for number, (point, cost) in enumerate(zip(self.points, self.costs, strict=True), 1):
            if cost is not None and cost < best:
                best = cost
                yield number, point, cost


def simulate(
    recorded: Recorded,
    kind: SearcherKind,
    seed: int,
    evaluations: int | None = None,
    at_once: int = AT_ONCE,
    enough: float = -1.0,
    until: float | None = None,
) -> Simulated:
    """Search a recorded space.

    Args:
        seed: decides all that is random.
        evaluations: so many at most; None: all points.
        at_once: points that are asked for at a time.
        enough: milliseconds at which the search ends.
        until: share of the speed of the best of the rest that the best found has, with confidence,
            when the search ends; None: that does not end it.
    """
    searcher = kind.make(recorded.grid, random.Random(seed))
    most = recorded.grid.size if evaluations is None else evaluations
    met: list[Point] = []
    goal = None if until is None else Goal(recorded.grid, until)
    while len(met) < most and (points := searcher.ask(min(at_once, most - len(met)))):
        met += points
        for point in points:
            tell(searcher, point, recorded.costs[point], recorded.counters.get(point, {}))
        if any(cost is not None and cost <= enough for cost in map(recorded.costs.get, points)):
            break
        if goal is not None and goal.reached({point: recorded.costs[point] for point in met}):
            break
    return Simulated(recorded, kind.name, tuple(met))
