"""The benchmark of searchers: expected results of random search, and summaries of runs."""

from __future__ import annotations

import random
import statistics

import pytest

from benchmarks.tuning import Landscape, Summary
from benchmarks.tuning_rest import claims, is_true
from gi_cuda.tune.records.recorded import Recorded
from gi_cuda.tune.records.simulation import Simulated

COSTS = (4.0, 1.0, None, 2.0, 8.0, None)
SPACE = Landscape(
    "small",
    Recorded(("a",), (tuple(range(6)),), {(at,): cost for at, cost in enumerate(COSTS)}),
)


def test_random_search_is_expected_to_find_its_mean() -> None:
    rng = random.Random(1)
    met = []
    for _ in range(4000):
        drawn = rng.sample(COSTS, 2)
        met.append(min((cost for cost in drawn if cost is not None), default=8.0))
    expected = SPACE.expected(7)
    assert expected[0] == pytest.approx((4 + 1 + 8 + 2 + 8 + 8) / 6)
    assert expected[1] == pytest.approx(statistics.fmean(met), abs=0.15)
    assert expected[5] == expected[6] == pytest.approx(1.0)


def test_runs_are_summarised_by_their_median() -> None:
    runs = [[4.0, 1.0], [None, 2.0, 1.0], [None, 2.0]]
    summary = Summary.of_runs(SPACE, runs, budget=25)
    assert summary.best == {25: 1.0}
    assert summary.evaluations == {1.1: 3, 1.05: 3}
    assert Summary.of_runs(SPACE, [[1.0]], 25).score == pytest.approx(1.0)
    assert Summary.of_runs(SPACE, [[None, 2.0]], 25).evaluations == {1.1: None, 1.05: None}


def test_statements_of_the_rest_are_held_against_what_was_recorded() -> None:
    places = tuple(range(60))
    slope = Recorded(("a",), (places,), {(at,): 2.0 + at / 60 for at in places})
    slowest_first = Simulated(slope, "own", tuple((at,) for at in reversed(places)))
    ((said, true),) = claims([slowest_first], 30)
    assert true == pytest.approx((2 + 30 / 60) / 2)
    assert claims([slowest_first], 10) == []
    assert is_true(said, true) == (said >= true)
    assert is_true(0.7, 0.9), "below 1 it says that nothing is faster"
    assert not is_true(1.2, 1.3)
