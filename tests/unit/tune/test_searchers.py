"""Searchers: their rules, their discovery, and the few evaluations that they need."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.tune.counter_model import CounterModel
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import Searcher, SearcherKind
from gi_cuda.tune.searchers import DEFAULT, SEARCHERS, find_searcher
from gi_cuda.tune.searchers.profile import Profile

BLOCKS = (16, 32, 48, 64, 96, 128)
GRID = Grid(
    ("block", "tile", "unroll", "shared", "layout"),
    (BLOCKS, (1, 2, 3, 4), (1, 2, 4, 8), (0, 1), ("row", "column", "tiled")),
    (
        ((0, 1), lambda places: BLOCKS[places[0]] * (places[1] + 1) <= 256),
        ((2, 3), lambda places: places != (3, 1)),
    ),
)


def with_constant_model(grid: Grid, rng: random.Random) -> Searcher:
    """The searcher ``profile`` with a model that predicts the same of all points."""
    varied = [(n, values) for n, values in zip(grid.names, grid.values, strict=True) if values[1:]]
    texts = {name: [one for one in values if isinstance(one, str)] for name, values in varied}
    return Profile(grid, rng, CounterModel(texts, {"l2": 1.0, "l2 use": 0.5}))


KINDS = {**SEARCHERS, "profile": SearcherKind("profile", "with a model", with_constant_model)}
GUIDED = ("local", "anneal", "basin", "genetic", "bayes")


BEST = (3, 2, 2, 1, 1)


def cost(point: Point) -> float:
    """A sum over parameters, with its minimum at :data:`BEST`."""
    return 1.0 + sum(abs(a - b) * w for a, b, w in zip(point, BEST, (3, 2, 1, 4, 2), strict=True))


def searched(
    kind: SearcherKind, grid: Grid, seed: int, number: int, batch: int, failing: bool = False
) -> list[Point]:
    searcher = kind.make(grid, random.Random(seed))
    points: list[Point] = []
    while len(points) < number and (asked := searcher.ask(min(batch, number - len(points)))):
        points += asked
        for point in asked:
            searcher.tell(point, None if failing or point[1] == 3 else cost(point))
    return points


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("batch", [1, 32])
def test_a_searcher_asks_all_allowed_points_and_none_twice(kind: SearcherKind, batch: int) -> None:
    points = searched(kind, GRID, 1, 10_000, batch)
    assert len(points) == len(set(points)) == GRID.size
    assert all(map(GRID.allows, points))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_searcher_asks_whole_batches_before_any_cost_is_known(kind: SearcherKind) -> None:
    searcher = kind.make(GRID, random.Random(2))
    points = [point for _ in range(3) for point in searcher.ask(32)]
    assert len(set(points)) == 96
    assert all(map(GRID.allows, points))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("batch", [1, 7])
def test_a_searcher_repeats_itself_from_the_same_seed(kind: SearcherKind, batch: int) -> None:
    assert searched(kind, GRID, 3, 60, batch) == searched(kind, GRID, 3, 60, batch)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_searcher_goes_on_while_all_points_fail(kind: SearcherKind) -> None:
    points = searched(kind, GRID, 4, 10_000, 8, failing=True)
    assert len(points) == len(set(points)) == GRID.size


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_costs_may_come_late_in_another_order_or_never(kind: SearcherKind) -> None:
    rng = random.Random(5)
    searcher = kind.make(GRID, random.Random(5))
    open_points = searcher.ask(8)
    points = list(open_points)
    for turn in range(60):
        point = open_points.pop(rng.randrange(len(open_points)))
        if turn % 10:
            searcher.tell(point, cost(point))
        asked = searcher.ask(1)
        open_points += asked
        points += asked
    assert len(points) == len(set(points)) == 68


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("values", [(), ((1,),), ((1,), (5,)), ((1, 2), (3,))])
def test_tiny_spaces_are_exhausted(kind: SearcherKind, values: tuple[tuple[int, ...], ...]) -> None:
    grid = Grid(tuple("ab"[: len(values)]), values)
    searcher = kind.make(grid, random.Random(6))
    points = []
    for _ in range(4):
        for point in searcher.ask(2):
            points.append(point)
            searcher.tell(point, 1.0)
    assert sorted(points) == sorted(grid.each())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_space_without_allowed_points_asks_nothing(kind: SearcherKind) -> None:
    grid = Grid(("a",), ((1, 2),), (((0,), lambda places: False),))
    assert kind.make(grid, random.Random(7)).ask(4) == []


def evaluations(kind: SearcherKind, batch: int) -> int:
    """Return the median number of evaluations until the optimum is asked, over nine seeds."""
    counts = []
    for seed in range(9):
        searcher, count, points = kind.make(GRID, random.Random(seed)), 0, [(0,)]
        while points and BEST not in points:
            points = searcher.ask(batch)
            count += len(points)
            for point in points:
                searcher.tell(point, None if point[1] == 3 else cost(point))
        counts.append(count)
    return sorted(counts)[4]


@pytest.mark.parametrize("name", GUIDED)
@pytest.mark.parametrize("batch", [1, 8])
def test_the_optimum_is_found_in_few_evaluations(name: str, batch: int) -> None:
    assert evaluations(SEARCHERS[name], batch) < GRID.size / 3


@pytest.mark.parametrize("batch", [1, 8])
def test_the_default_finds_it_in_a_tenth(batch: int) -> None:
    assert evaluations(SEARCHERS[DEFAULT], batch) < GRID.size / 8


@pytest.mark.parametrize("name", [name for name in KINDS if name != "exhaustive"])
def test_a_space_too_large_to_list_is_searched(name: str) -> None:
    grid = Grid(
        tuple("abcdefghij"),
        (tuple(range(1, 9)),) * 10,
        (((0, 9), lambda places: places[0] <= places[1]),),
    )
    assert grid.listing(200_000) is None
    searcher = KINDS[name].make(grid, random.Random(8))
    found = []
    for _ in range(5):
        for point in searcher.ask(10):
            assert grid.allows(point)
            found.append(float(sum(point)))
            searcher.tell(point, 1.0 + sum(point))
    assert len(found) == 50
    if name == DEFAULT:
        assert min(found[40:]) < min(found[:12]) / 2


def test_the_default_uses_costs_of_points_that_it_did_not_ask() -> None:
    searcher = SEARCHERS[DEFAULT].make(GRID, random.Random(9))
    told = [point for point in GRID.each() if point[0] < 4]
    for point in told:
        searcher.tell(point, cost(point))
    asked = searcher.ask(GRID.size)
    assert not set(asked) & set(told)
    assert len(asked) == GRID.size - len(told)


def test_costs_of_zero_do_no_harm() -> None:
    searcher = SEARCHERS[DEFAULT].make(GRID, random.Random(10))
    for _ in range(30):
        for point in searcher.ask(1):
            searcher.tell(point, 0.0 if sum(point) % 2 else 1e-9)


def test_a_name_that_is_none_is_a_mistake_that_lists_the_names() -> None:
    with pytest.raises(UserError, match="no searcher 'magic'") as caught:
        find_searcher("magic", "--searcher")
    assert all(name in str(caught.value) for name in SEARCHERS)
    assert str(caught.value).startswith("--searcher: ")


def test_a_searcher_of_ones_own_is_found_by_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from gi_cuda.tune.searchers.random import SEARCHER as MINE\nOTHER = 1\n"
    (tmp_path / "own_searcher.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_searcher", raising=False)
    assert find_searcher("own_searcher:MINE", "--searcher").name == "random"
    for wrong in ("own_searcher:OTHER", "own_searcher:NONE"):
        with pytest.raises(UserError, match="has no searcher"):
            find_searcher(wrong, "--searcher")
    with pytest.raises(UserError, match="cannot be imported"):
        find_searcher("there_is_none:MINE", "--searcher")


def test_names_are_those_of_the_modules() -> None:
    assert all(kind.name == name and kind.help for name, kind in SEARCHERS.items())
    assert DEFAULT in SEARCHERS
    assert find_searcher(DEFAULT, "--searcher") is SEARCHERS[DEFAULT]
    assert math.prod(GRID.shape) > GRID.size
