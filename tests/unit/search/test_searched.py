"""A searcher in a run: the calls that it gets, also after an interruption."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from gi_cuda.genome import Delete, Genotype
from gi_cuda.search.recipes import Member
from gi_cuda.search.strategies.tune import Asked
from gi_cuda.subject import Subject
from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers import SEARCHERS
from gi_cuda.tune.searchers.random import Random

COHORT = 3


def members(asked: Asked, scale: Subject, points: list[Point]) -> list[Member]:
    """Evaluate points: one in three is wrong."""
    space = scale.space
    genotypes = [Genotype(space.chosen(asked.grid.configuration(one))) for one in points]
    return [
        Member(sum(point), one, math.inf, False, sum(point) % 3 > 0, 1.0 + sum(point) / 7)
        for point, one in zip(points, genotypes, strict=True)
    ]


@pytest.mark.parametrize("name", [name for name in SEARCHERS if name != "profile"])
def test_a_run_that_is_resumed_asks_what_it_would_have_asked(name: str, scale: Subject) -> None:
    def begun() -> Asked:
        return Asked(SEARCHERS[name], COHORT, scale.original, seed=5)

    whole = begun()
    came, asked = [], []
    for _ in range(2):
        asked.append(whole.ask())
        came.append(members(whole, scale, asked[-1]))
        whole.take(came[-1])
    resumed = begun()
    for some in came:
        resumed.take(some)
    assert resumed.ask() == whole.ask()
    points = [point for some in asked for point in some]
    assert len(set(points)) == len(points) == 2 * COHORT
    assert whole.grid.point(scale.original.configuration) not in points


class Noting:
    """A searcher that notes the counters it is given."""

    def __init__(self, grid: Grid, rng: random.Random) -> None:
        self.noted: list[tuple[Point, Counters]] = []

    def ask(self, number: int) -> list[Point]:
        return []

    def tell(self, point: Point, cost: float | None) -> None:
        pass

    def profiled(self, point: Point, counters: Counters) -> None:
        self.noted.append((point, counters))


def test_a_searcher_that_uses_counters_is_told_those_of_the_compiler(scale: Subject) -> None:
    made: list[Noting] = []

    def make(grid: Grid, rng: random.Random) -> Noting:
        made.append(Noting(grid, rng))
        return made[-1]

    asked = Asked(SearcherKind("noting", "", make), COHORT, scale.original, seed=5)
    here = asked.grid.point(scale.original.configuration)
    (one,) = members(asked, scale, [here])
    asked.take([one, replace(one, resources={"local": 16})])
    assert made[0].noted == [(here, {"local": 16})]


def test_what_individuals_with_edits_cost_is_not_told(scale: Subject) -> None:
    told: list[Point] = []

    class Recording(Random):
        def tell(self, point: Point, cost: float | None) -> None:
            told.append(point)

    asked = Asked(SearcherKind("recording", "", Recording), COHORT, scale.original, seed=5)
    first, second = members(asked, scale, asked.ask())[:2]
    edits = (Delete(scale.grammar.rules[0].name),)
    edited = replace(first, genotype=Genotype(first.genotype.configuration, edits))
    asked.take([edited, second])
    assert told[1:] == [asked.grid.point(second.genotype.configuration)]
