"""A search of a space that another tuner recorded, with the times that it measured."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gi_cuda.tune.grid import Point
from gi_cuda.tune.recorded import Recorded
from gi_cuda.tune.searcher import SearcherKind

AT_ONCE = 8
"""Points that a searcher is asked for at a time."""


@dataclass(frozen=True, slots=True)
class Step:
    """A point that was the best when it was measured.

    Attributes:
        evaluations: how many there were with it.
        cost: milliseconds.
    """

    evaluations: int
    point: Point
    cost: float


@dataclass(frozen=True, slots=True)
class Simulated:
    """A search of a recorded space.

    Attributes:
        searcher: the searcher's name.
        evaluations: points that were asked for, those that failed as well.
        steps: each that was better than those before, in order.
    """

    recorded: Recorded
    searcher: str
    evaluations: int
    steps: tuple[Step, ...]

    @property
    def optimum(self) -> float:
        """The least time that is recorded, in milliseconds."""
        return min(cost for cost in self.recorded.costs.values() if cost is not None)

    def until(self, share: float) -> int | None:
        """Evaluations until a point has such a share of the best speed; None: none has."""
        enough = self.optimum / share
        return next((one.evaluations for one in self.steps if one.cost <= enough), None)


def simulate(
    recorded: Recorded,
    kind: SearcherKind,
    seed: int,
    evaluations: int | None = None,
    at_once: int = AT_ONCE,
) -> Simulated:
    """Search a recorded space.

    Args:
        seed: decides all that is random.
        evaluations: so many at most; None: all points.
        at_once: points that are asked for at a time.
    """
    searcher = kind.make(recorded.grid, random.Random(f"{seed}/{kind.name}"))
    most = recorded.grid.size if evaluations is None else evaluations
    steps: list[Step] = []
    done = 0
    while done < most and (points := searcher.ask(min(at_once, most - done))):
        for point in points:
            done += 1
            cost = recorded.costs[point]
            if cost is not None and (not steps or cost < steps[-1].cost):
                steps.append(Step(done, point, cost))
        for point in points:
            searcher.tell(point, recorded.costs[point])
    return Simulated(recorded, kind.name, done, tuple(steps))
