"""The searcher by hardware counters, on a small synthetic space of two GPUs.

The kernel's time is that of the busier of two units: the memory, whose work falls with the tile,
and the issue slots, whose instructions fall with the unrolling and rise with the tile. On the GPU
of the model the memory is the bottleneck, on the GPU that is searched the issue slots are.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.tune.counter_model import CounterModel
from gi_cuda.tune.counters import Counters
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.records.recorded import Recorded
from gi_cuda.tune.records.simulation import simulate
from gi_cuda.tune.searcher import SearcherKind, tell
from gi_cuda.tune.searchers import SEARCHERS
from gi_cuda.tune.searchers.profile import POWER, Profile, correlation, score, weights

NAMES = ("tile", "unroll", "layout")
VALUES = ((1, 2, 4, 8, 16, 32), (1, 2, 4, 8), ("row", "column", "tiled"))
SEEDS = range(30)


def gpu(memory: float, issue: float) -> Recorded:
    """The space on a GPU whose units need so much time for their work."""
    grid = Grid(NAMES, VALUES)
    costs, counters = {}, {}
    for point in grid.each():
        tile, unroll = VALUES[0][point[0]], VALUES[1][point[1]]
        work = {
            "dram": 1e6 / tile + 1e4 * point[2],
            "issue": 1e5 * (1 + tile / 8) * (1 + 4 / unroll),
        }
        times = {"dram": memory * work["dram"], "issue": issue * work["issue"]}
        costs[point] = max(times.values()) + 0.1 * min(times.values())
        uses = {f"{unit} use": time / costs[point] for unit, time in times.items()}
        counters[point] = {**work, **uses}
    return Recorded(NAMES, VALUES, costs, counters=counters)


SEARCHED = gpu(memory=1e-6, issue=2e-6)
MODEL = CounterModel.trained(
    [(one.grid.configuration(p), c) for one in [gpu(4e-6, 1e-6)] for p, c in one.counters.items()],
    "the other GPU",
)
UNMEASURED = replace(SEARCHED, counters={})
PROFILE = SearcherKind("profile", "", partial(Profile, model=MODEL))


def evaluations(kind: SearcherKind, space: Recorded = SEARCHED) -> float:
    """The median number of evaluations until the best time is within 1.1 times the optimum."""
    enough = 1.1 * space.optimum
    return statistics.median(
        len(simulate(space, kind, seed, None, 1, enough).points) for seed in SEEDS
    )


def test_fewer_evaluations_are_needed_than_by_random_search() -> None:
    assert evaluations(PROFILE) <= evaluations(SEARCHERS["random"]) / 2


def test_measured_counters_tell_the_bottleneck_of_this_gpu() -> None:
    # The model's own GPU has another bottleneck.
    found = evaluations(PROFILE)
    assert found < evaluations(PROFILE, UNMEASURED) < evaluations(SEARCHERS["random"])


def test_all_points_are_asked_in_the_end() -> None:
    assert len(set(simulate(SEARCHED, PROFILE, 1).points)) == SEARCHED.grid.size


def test_a_point_that_was_told_is_not_asked() -> None:
    searcher = PROFILE.make(SEARCHED.grid, random.Random(1))
    asked = searcher.ask(3)
    told = [point for point in SEARCHED.grid.each() if point not in asked][:30]
    for point in (*asked, *told):
        tell(searcher, point, SEARCHED.costs[point], SEARCHED.counters[point])
    rest = searcher.ask(100)
    assert len(rest) == SEARCHED.grid.size - 33
    assert not {*rest} & {*asked, *told}


def test_counters_of_the_compiler_alone_do() -> None:
    searcher = PROFILE.make(SEARCHED.grid, random.Random(2))
    tell(searcher, (0, 0, 0), 1.0, {"local": 64, "registers": 32})
    assert len(searcher.ask(4)) == 4


def test_searchers_that_use_no_counters_are_told_costs_alone() -> None:
    searcher = SEARCHERS["random"].make(SEARCHED.grid, random.Random(2))
    tell(searcher, (0, 0, 0), 1.0, {"dram": 1.0})
    assert (0, 0, 0) not in searcher.ask(SEARCHED.grid.size)


def test_less_work_for_a_busy_unit_scores_and_idle_units_do_not_count() -> None:
    here: Counters = {"dram": 10.0, "issue": 5.0}
    predicted = {
        "dram": np.array([10.0, 5.0, 20.0, 0.0]),
        "issue": np.array([50.0, 5.0, 5.0, 5.0]),
    }
    found = score({"dram": 0.5, "issue": 0.0, "l2": 0.9}, here, predicted)
    assert found == pytest.approx([0.0, 1 / 3, -1 / 3, 1.0])
    nothing = {"dram": np.zeros(2)}
    assert score({"dram": 1.0}, {"dram": 0.0}, nothing) == pytest.approx([0.0, 0.0])


def test_weights_grow_with_the_score_and_none_is_zero() -> None:
    found = weights(np.array([-2.0, -0.2, 0.0, 0.5, 1.0]))
    assert found[2:] == pytest.approx([1.0, 1.5**POWER, 2.0**POWER])
    assert found[0] == 1e-4 < found[1] < 1.0
    assert weights(np.zeros(3)) == pytest.approx(np.ones(3))


def test_without_a_model_one_message_says_what_is_missing() -> None:
    kind = SEARCHERS["profile"]
    for refuse in (kind.demand, partial(kind.make, rng=random.Random(1))):
        with pytest.raises(UserError, match="needs a model of counters"):
            refuse(SEARCHED.grid)


def test_work_that_costs_nothing_does_not_count() -> None:
    rising = np.array([1.0, 2.0, 3.0])
    assert correlation(rising, 2 * rising) == pytest.approx(1.0)
    assert correlation(rising, -rising) == correlation(rising, np.ones(3)) == 0.0
