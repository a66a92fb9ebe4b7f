"""The rest of a space: the bound on its speed, in words too, and the goal of ``--until``."""

from __future__ import annotations

import math
import random

import pytest

from gi_cuda.tune import rest
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.rest import LEAST, Goal, rest_speedup, rest_words

GRID = Grid(("a", "b", "c"), ((1, 2, 4, 8, 16, 32), tuple(range(6)), tuple(range(6))))
BEST = (3, 4, 1)


def cost(point: Point) -> float:
    return math.exp(sum((at - best) ** 2 for at, best in zip(point, BEST, strict=True)) / 20)


def drawn(number: int, seed: int) -> dict[Point, float | None]:
    points = random.Random(seed).sample(GRID.points.tolist(), number)
    return {tuple(point): cost(tuple(point)) for point in points}


def test_most_bounds_hold_on_a_smooth_space_and_come_down() -> None:
    medians, true = [], 0
    for number in (30, 60, 120):
        bounds = []
        for seed in range(10):
            costs = drawn(number, seed)
            others = [cost(point) for point in GRID.each() if point not in costs]
            bound = rest_speedup(GRID, costs)
            assert bound is not None
            true += bound >= min(filter(None, costs.values())) / min(others)
            bounds.append(bound)
        medians.append(sorted(bounds)[5])
    assert true >= 27
    assert medians[0] > medians[1] > medians[2]


def test_little_and_all_that_is_measured() -> None:
    assert rest_speedup(GRID, drawn(LEAST - 1, 1)) is None
    assert rest_speedup(GRID, dict.fromkeys(drawn(LEAST, 1))) is None
    assert rest_speedup(GRID, drawn(GRID.size, 1)) == 0.0
    small = Grid(("a",), ((1, 2),))
    assert rest_speedup(small, {(0,): 1.0, (1,): None}) == 0.0


@pytest.mark.parametrize(
    ("speedup", "said"),
    [
        (None, "too few"),
        (0.0, "no configuration is left"),
        (0.98, "with 95 % confidence, no other configuration is faster"),
        (1.034, "with 95 % confidence, the rest of the space is at most 1.03 times as fast"),
    ],
)
def test_words(speedup: float | None, said: str) -> None:
    assert rest_words(speedup).startswith(said)


def test_a_goal_is_checked_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def bound(grid: Grid, costs: dict[Point, float | None]) -> float:
        seen.append(len(costs))
        return 60.0 / len(costs)

    monkeypatch.setattr(rest, "rest_speedup", bound)
    goal = Goal(GRID, 0.95)
    ended = next(number for number in range(1, 200) if goal.reached(drawn(number, 1)))
    assert seen == [24, 29, 35, 42, 51, 62]
    assert ended == 62
