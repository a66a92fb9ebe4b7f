"""Asynchronous searches: constant number of pending individuals, repeatable, resumable anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search.loop import End, Evolution
from gi_cuda.store import Store
from gi_cuda.subject import Subject

Make = Callable[..., Any]
Evolve = Callable[..., Evolution]

PRESETS = ("adaptive", "paraiso")
NUMBERS = {"population": 16, "generations": 5, "cohorts": 4}


class Death(Exception):
    """The end of a process in the middle of a measurement."""


@dataclass
class InOrder:
    """An evaluator that takes what is under way in an order of its own, whatever came before.

    Attributes:
        simulated: measures.
        turn: by what they are ordered.
        dies: asked before each measurement.
        most: how many were under way at a time, at most.
        overlaps: how often there was something new before all else had ended.
        evaluated: numbers in the order in which they ended.
        begun: how many had ended when a number came.
    """

    simulated: Any
    turn: Callable[[int, Genotype], Any]
    dies: Callable[[], bool] = lambda: False
    most: int = 0
    overlaps: int = 0
    evaluated: list[int] = field(default_factory=list)
    begun: dict[int, int] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        return self.simulated.subject  # type: ignore[no-any-return]

    def prepare(self, batch: Mapping[int, Genotype]) -> Any:
        return self.simulated.prepare(batch)

    def evaluate(
        self,
        batch: Mapping[int, Any],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Any]],
    ) -> Iterator[tuple[int, Evaluation]]:
        left = dict(batch)
        while left and not stop():
            self.most = max(self.most, len(left))
            self.begun = dict.fromkeys(left, len(self.evaluated)) | self.begun
            ident = min(left, key=lambda one: (self.turn(one, left[one].genotype), one))
            genotype = left.pop(ident).genotype
            if self.dies():
                raise Death
            self.evaluated.append(ident)
            yield ident, self.simulated.measure(genotype)
            if left and (added := more()):
                self.overlaps += 1
                left |= added


def scattered(ident: int, genotype: Genotype) -> int:
    """Measurements end in no order at all, but the same each time."""
    return xxh3_64_intdigest(str(genotype).encode())


def story(store: Store) -> tuple[object, ...]:
    """All that a search decided, and what came when."""
    tallies = [(one.number, one.tally, one.finished, one.cohorts) for one in store.generations()]
    cohorts = sum(one.cohorts for one in store.generations())
    came = [[one.ident for one, _ in store.came(number)] for number in range(cohorts + 1)]
    return store.individuals(), tallies, store.tabu(), store.evaluations(), came


def after(count: int) -> Callable[[], bool]:
    """False so many times, then True."""
    left = iter(range(count))
    return lambda: next(left, None) is None


@pytest.fixture(scope="module")
def whole(simulated: Make, evolution: Evolve) -> Callable[[str], tuple[object, ...]]:
    """The story of an uninterrupted search."""
    stories: dict[str, tuple[object, ...]] = {}

    def tell(preset: str) -> tuple[object, ...]:
        if preset not in stories:
            with Store(Path(":memory:"), create=True) as store:
                search = evolution(store, InOrder(simulated(), scattered), preset, **NUMBERS)
                list(search.run())
                assert search.end is End.COMPLETE
                stories[preset] = story(store)
        return stories[preset]

    return tell


@pytest.mark.parametrize("preset", PRESETS)
def test_as_many_as_a_generation_has_are_under_way_all_the_time(
    preset: str, simulated: Make, evolution: Evolve
) -> None:
    evaluator = InOrder(simulated(), scattered)
    with Store(Path(":memory:"), create=True) as store:
        search = evolution(store, evaluator, preset, **NUMBERS)
        steps = list(search.run())
        assert search.end is End.COMPLETE
        # What there is room for is bred at once: cohort after cohort, while others are evaluated.
        assert evaluator.most == 16
        assert evaluator.overlaps == 20 - 4
        individuals, generations = store.individuals(), store.generations()
        assert [sum(one.outcomes.values()) for one in generations] == [16] * 5
        assert all(one.finished and one.cohorts == 4 for one in generations)
        assert len(evaluator.evaluated) == len(set(evaluator.evaluated)) == len(individuals) == 80
        # Generations overlap: some of the second came before the last of the first.
        order = [step.generation for step in steps if step.ident is not None]
        assert order != sorted(order)
        assert {step.size for step in steps} == {16}


@pytest.mark.parametrize("preset", PRESETS)
def test_parents_are_known_before_their_children_are_bred(
    preset: str, simulated: Make, evolution: Evolve
) -> None:
    """And they need not be of the generation before: some are of the same one."""
    evaluator = InOrder(simulated(), scattered)
    with Store(Path(":memory:"), create=True) as store:
        list(evolution(store, evaluator, preset, **{**NUMBERS, "generations": 12}).run())
        everyone = {one.ident: one for one in store.individuals()}
        pairs = [(child, everyone[one]) for child in everyone.values() for one in child.parents]
        assert pairs
        place = {ident: at for at, ident in enumerate(evaluator.evaluated)}
        begun = evaluator.begun
        assert all(place[parent.ident] < begun[child.ident] for child, parent in pairs)
        assert any(child.generation == parent.generation for child, parent in pairs)


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=10, deadline=None)
@given(stops=st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=6))
def test_a_search_that_is_killed_anywhere_goes_on_as_if_it_had_not_been(
    preset: str,
    stops: list[tuple[int, bool]],
    whole: Callable[[str], tuple[object, ...]],
    simulated: Make,
    evolution: Evolve,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Stopped after some evaluations, or dead over the next one, any number of times."""
    path = tmp_path_factory.mktemp("killed") / "run.db"
    Store(path, create=True).close()
    seen: set[int] = set()
    for count, dies in [*stops, (10_000, False)]:
        ends = after(count)
        evaluator = InOrder(simulated(), scattered, ends if dies else lambda: False)
        stop: Callable[[], bool] = (lambda: False) if dies else ends
        with Store(path) as store:
            with suppress(Death):
                list(evolution(store, evaluator, preset, stop=stop, **NUMBERS).run())
            done = set(evaluator.evaluated) & store.evaluations().keys()
        assert not seen & done, "what was finished is evaluated again"
        seen |= done
    with Store(path) as store:
        assert story(store) == whole(preset)


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=5, deadline=None)
@given(chance=st.integers())
def test_recorded_fitness_gives_exactly_the_same_search(
    preset: str, chance: int, simulated: Make, evolution: Evolve
) -> None:
    """Times and the order in which they come differ from run to run; what was recorded of both
    brings a search back."""
    rng = random.Random(chance)

    def noisy(genotype: Genotype) -> Evaluation:
        ratio = rng.uniform(0.5, 1.5)
        verdict = Verdict.FASTER if ratio < 1 else Verdict.SLOWER
        return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio, ratio)

    with (
        Store(Path(":memory:"), create=True) as recorded,
        Store(Path(":memory:"), create=True) as replayed,
        Store(Path(":memory:"), create=True) as other,
    ):
        by_chance = InOrder(simulated(measure=noisy), lambda ident, genotype: rng.random())
        list(evolution(recorded, by_chance, preset, **NUMBERS).run())
        evaluations = recorded.evaluations()
        record = {one.genotype: evaluations[one.ident] for one in recorded.individuals()}
        came = {one.ident: number for number in range(21) for one, _ in recorded.came(number)}
        again = simulated(measure=lambda genotype: record[str(genotype)])
        # Between two cohorts the order does not matter.
        turns = InOrder(again, lambda ident, genotype: (came[ident], rng.random()))
        list(evolution(replayed, turns, preset, **NUMBERS).run())
        assert story(replayed) == story(recorded)
        by_chance = InOrder(simulated(measure=noisy), lambda ident, genotype: rng.random())
        list(evolution(other, by_chance, preset, **NUMBERS).run())
        assert story(other) != story(recorded)


def test_a_used_up_space_ends_it(tiny: Subject, simulated: Make, evolution: Evolve) -> None:
    """Individuals that are under way are still evaluated when breeding finds nothing new."""
    evaluator = InOrder(simulated(tiny), scattered)
    numbers = {"population": 40, "generations": 1000, "cohorts": 4}
    with Store(Path(":memory:"), create=True) as store:
        search = evolution(store, evaluator, "paraiso", **numbers)
        list(search.run())
        assert search.end is End.USED_UP
        assert store.pending() == []
        assert all(one.finished for one in store.generations())
        assert len(store.evaluations()) > 0.8 * 10 * 2 * 6 * 2


def test_a_generation_that_cohorts_do_not_divide_evenly(simulated: Make, evolution: Evolve) -> None:
    with Store(Path(":memory:"), create=True) as store:
        numbers = {"population": 10, "generations": 2, "cohorts": 4}
        list(evolution(store, InOrder(simulated(), scattered), "adaptive", **numbers).run())
        assert [(one.cohorts, sum(one.outcomes.values())) for one in store.generations()] == [
            (4, 10)
        ] * 2
