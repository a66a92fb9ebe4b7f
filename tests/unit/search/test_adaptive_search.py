"""The preset ``adaptive`` as a whole search."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.search import Origin
from gi_cuda.search.loop import End, Evolution
from gi_cuda.search.strategies import adaptive
from gi_cuda.store import Store
from gi_cuda.subject import Subject

Evolve = Callable[..., Evolution]
Make = Callable[..., Any]


def story(store: Store) -> object:
    return store.individuals(), store.tabu(), store.evaluations()


def after(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is None


@pytest.fixture(scope="module")
def whole(simulated: Make, evolution: Evolve, tmp_path_factory: pytest.TempPathFactory) -> object:
    with Store(tmp_path_factory.mktemp("whole") / "run.db", create=True) as store:
        search = evolution(store, simulated(), "adaptive", population=20, generations=6)
        list(search.run())
        assert search.end is End.COMPLETE
        return story(store)


def test_nothing_is_tried_twice_and_the_sweep_comes_first(whole: Any, scale: Subject) -> None:
    individuals, _, _ = whole
    keys = [one.genotype_key for one in individuals]
    assert len(set(keys)) == len(keys)
    assert {one.origin for one in individuals if one.generation == 0} >= {Origin.SWEEP}
    assert not any(one.origin == Origin.SWEEP for one in individuals if one.generation > 3)
    assert {one.origin for one in individuals} >= {Origin.UNION, Origin.MUTATION, Origin.CROSSOVER}


@settings(max_examples=6, deadline=None)
@given(stops=st.lists(st.integers(0, 60), min_size=1, max_size=5))
def test_a_stopped_search_goes_on_as_if_it_had_not_stopped(
    stops: list[int],
    whole: object,
    simulated: Make,
    evolution: Evolve,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("stopped") / "run.db"
    Store(path, create=True).close()
    numbers = {"population": 20, "generations": 6}
    for count in stops:
        with Store(path) as store:
            evaluator = simulated(order=random.Random(count))
            list(evolution(store, evaluator, "adaptive", stop=after(count), **numbers).run())
    with Store(path) as store:
        list(evolution(store, simulated(), "adaptive", **numbers).run())
        assert story(store) == whole


@pytest.mark.parametrize("preset", ["adaptive", "gevo", "paraiso"])
def test_the_seed_decides(preset: str, simulated: Make, evolution: Evolve, tmp_path: Path) -> None:
    stories = []
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        with Store(tmp_path / name, create=True) as store:
            evaluator = simulated(order=random.Random(name))
            list(evolution(store, evaluator, preset, seed=seed).run())
            stories.append(story(store))
    assert stories[0] == stories[1]
    assert stories[0] != stories[2]


def test_parts_can_be_switched_off(simulated: Make, evolution: Evolve, tmp_path: Path) -> None:
    with Store(tmp_path / "run.db", create=True) as store:
        search = evolution(store, simulated(), "adaptive")
        shares = replace(
            adaptive.SHARES,
            sweep=0.0,
            gaining=0.0,
            near=0.0,
            deleting=0.0,
            exchanged=0.0,
            together=0.0,
            paying=0.0,
        )
        search.strategy = adaptive.Adaptive(search.settings, shares)
        list(search.run())
        origins = {one.origin for one in store.individuals()}
    assert Origin.SWEEP not in origins
    assert Origin.REMOVAL not in origins
    assert Origin.CROSSOVER not in origins
