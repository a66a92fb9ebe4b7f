"""A steady-state genetic algorithm: uniform crossover, mutation, the worst is replaced."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Walk, Walker

POPULATION = 20
CHILDREN = 32
"""Children that are bred at a time; fewer are measured where fewer are asked."""

MUTATION = 0.5
"""Chance that a random parameter of a child gets a random value."""

TRIES = 10
"""Times that a child is bred anew while constraints forbid it."""


def evolve(grid: Grid, rng: random.Random) -> Walk:
    """Breed the best points that are known."""
    known: dict[Point, float] = {}
    drawn = (grid.draw(rng) for _ in range(POPULATION))
    wanted = list(dict.fromkeys(point for point in drawn if point is not None))
    while True:
        known.update((yield wanted))
        ranked = sorted((cost, point) for point, cost in known.items() if cost < FAILED)
        parents = [point for _, point in ranked[:POPULATION]]
        if len(known) < POPULATION:
            wanted = [point for point in wanted if point not in known]
        elif len(parents) >= 2:
            wanted = [_child(grid, rng, parents) for _ in range(CHILDREN)]
        else:
            wanted = []


def _child(grid: Grid, rng: random.Random, parents: list[Point]) -> Point:
    """Return a child of two parents; better parents are more likely."""
    weights = range(len(parents), 0, -1)
    for _ in range(TRIES):
        pair = rng.choices(parents, weights, k=2)
        child = tuple(map(rng.choice, zip(*pair, strict=True)))
        if child in pair or rng.random() < MUTATION:
            at = rng.randrange(len(child))
            child = (*child[:at], rng.randrange(grid.shape[at]), *child[at + 1 :])
        if child not in pair and grid.allows(child):
            return child
    return rng.choice(grid.neighbours(parents[0]) or parents)


SEARCHER = SearcherKind("genetic", "a genetic algorithm", partial(Walker, walk=evolve))
