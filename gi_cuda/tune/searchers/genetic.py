"""A steady-state genetic algorithm: uniform crossover, mutation, the worst is replaced."""

from __future__ import annotations

import random
from functools import partial

from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Results, Walk, Walker

POPULATION = 20
CHILDREN = 32
"""Children that are bred at a time; fewer are measured where fewer are asked."""

TRIES = 10
"""Times that a child is bred anew while constraints forbid it."""


def evolve(grid: Grid, rng: random.Random) -> Walk:
    """Breed the best points that are known."""
    population: Results = []
    first = [grid.draw(rng) for _ in range(POPULATION)]
    fresh = [point for point in dict.fromkeys(first) if point is not None]
    results = yield fresh
    while True:
        known = {point for point, _ in population}
        population += [one for one in dict(results).items() if one[0] not in known]
        population = sorted(population, key=lambda one: one[1])[:POPULATION]
        parents = [point for point, cost in population if cost < FAILED]
        fresh = [point for point in fresh if point not in dict(results)]
        if len(fresh) + len(population) >= POPULATION and fresh:
            results = yield fresh
        elif len(parents) < 2:
            results = yield []
        else:
            results = yield [_child(grid, rng, parents) for _ in range(CHILDREN)]


def _child(grid: Grid, rng: random.Random, parents: list[Point]) -> Point:
    """Return a child of two parents, the better ones being more likely."""
    weights = range(len(parents), 0, -1)
    for _ in range(TRIES):
        mother, father = rng.choices(parents, weights, k=2)
        child = tuple(map(rng.choice, zip(mother, father, strict=True)))
        while rng.random() < 0.5 or child in (mother, father):
            at = rng.randrange(len(child))
            child = (*child[:at], rng.randrange(grid.shape[at]), *child[at + 1 :])
            if grid.size == 1:
                break
        if grid.allows(child):
            return child
    return rng.choice(grid.neighbours(mother) or [mother])


SEARCHER = SearcherKind("genetic", "a genetic algorithm", partial(Walker, walk=evolve))
