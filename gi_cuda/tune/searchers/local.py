"""Iterated local search: greedy descent, then a jump from the best point, at times a restart."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Best, Part, Walk, Walker, sample

CHANGES = 3
"""Parameters that a jump changes, at most."""

PATIENCE = 4
"""Descents without a better point before a restart from a random point."""


def search(grid: Grid, rng: random.Random) -> Walk:
    """Descend again and again, from points near the best end of a descent so far."""
    while True:
        best = yield from sample(grid, rng)
        failures = 0
        start = best[1] if best else None
        while best and start and failures <= PATIENCE:
            end = yield from descend(grid, rng, start)
            failures = 0 if end and end[0] < best[0] else failures + 1
            best = min(best, end or best)
            start = jump(grid, rng, best[1])


def descend(grid: Grid, rng: random.Random, start: Point) -> Part:
    """Go to the first cheaper neighbour until there is none. Return the end and its cost.

    Adjacent values are tried before other values. Returns None if the start fails.
    """
    here: Best = None
    todo = [start]
    while todo:
        results = yield todo
        if not results:
            break
        seen = {point for point, _ in results}
        todo = [point for point in todo if point not in seen]
        cost, point = min((cost, point) for point, cost in results)
        if cost < (here[0] if here else FAILED):
            here = cost, point
            near = grid.neighbours(point, 1)
            far = [one for one in grid.neighbours(point) if one not in near]
            todo = rng.sample(near, len(near)) + rng.sample(far, len(far))
    return here


def jump(grid: Grid, rng: random.Random, point: Point) -> Point:
    """Return a point some random changes of one parameter away."""
    for _ in range(rng.randint(2, CHANGES)):
        point = rng.choice(grid.neighbours(point) or [point])
    return point


SEARCHER = SearcherKind(
    "local", "iterated local search with restarts", partial(Walker, walk=search)
)
