"""Searches of recorded spaces."""

from __future__ import annotations

from gi_cuda.tune.records.recorded import Recorded
from gi_cuda.tune.records.simulation import simulate
from gi_cuda.tune.searchers import SEARCHERS

COSTS = (4.0, None, 1.0, 2.0, 8.0, None)
SPACE = Recorded(
    ("a",),
    (tuple(range(6)),),
    {(at,): cost for at, cost in enumerate(COSTS)},
    compile_seconds={(at,): 1.0 for at in range(6)},
    benchmark_seconds={(0,): 0.5, (4,): 0.25},
)


def test_a_search_meets_all_points_and_tells_what_they_took() -> None:
    found = simulate(SPACE, SEARCHERS["exhaustive"], seed=1)
    assert found.costs == list(COSTS)
    assert list(found.improvements()) == [(1, (0,), 4.0), (3, (2,), 1.0)]
    assert found.seconds == 6.75
    assert SPACE.optimum == 1.0


def test_a_search_ends_after_so_many_evaluations_or_once_it_is_good_enough() -> None:
    assert len(simulate(SPACE, SEARCHERS["random"], 1, evaluations=4, at_once=3).points) == 4
    short = simulate(SPACE, SEARCHERS["exhaustive"], 1, at_once=1, enough=SPACE.optimum)
    assert short.costs == [4.0, None, 1.0]


def test_a_search_ends_once_the_rest_holds_little_more() -> None:
    places = tuple(range(200))
    slope = Recorded(("a",), (places,), {(at,): 1.0 + at / 100 for at in places})
    found = simulate(slope, SEARCHERS["bayes"], 1, at_once=4, until=0.9)
    assert 24 <= len(found.points) < 200
    assert found.rest is not None
    assert found.rest <= 1 / 0.9
    assert found.true_rest <= 1.0
    assert simulate(slope, SEARCHERS["random"], 1).true_rest == 0.0
