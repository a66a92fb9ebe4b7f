"""Iterated local search: greedy descent, then a jump from the best point, at times a restart."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Walk, Walker

CHANGES = 3
"""Parameters that a jump changes, at most."""

PATIENCE = 4
"""Descents without a better point before a restart from a random point."""


def descend(grid: Grid, rng: random.Random) -> Walk:
    """Search by descents. Each looks at the adjacent values first, then at all other values."""
    best: tuple[float, Point] | None = None
    failures = 0
    while True:
        if best is None or failures >= PATIENCE:
            best, failures = None, 0
            starts = [grid.draw(rng)]
        else:
            starts = [jump(grid, rng, best[1])]
        results = yield [point for point in starts if point is not None]
        cost, point = min(((cost, point) for point, cost in results), default=(FAILED, None))
        while point is not None:
            near = grid.neighbours(point, 1)
            far = [one for one in grid.neighbours(point) if one not in near]
            todo = rng.sample(near, len(near)) + rng.sample(far, len(far))
            here = point
            while todo and point == here:
                results = yield todo
                seen = {one for one, _ in results}
                if not seen & set(todo):
                    break
                todo = [one for one in todo if one not in seen]
                found = min(((cost, one) for one, cost in results), default=(FAILED, here))
                if found[0] < cost:
                    cost, point = found
            if point == here:
                break
        if point is not None and (best is None or cost < best[0]):
            best, failures = (cost, point), 0
        else:
            failures += 1


def jump(grid: Grid, rng: random.Random, point: Point) -> Point:
    """Return a point some random changes of one parameter away."""
    for _ in range(rng.randint(2, CHANGES)):
        point = rng.choice(grid.neighbours(point) or [point])
    return point


SEARCHER = SearcherKind(
    "local", "iterated local search with restarts", partial(Walker, walk=descend)
)
