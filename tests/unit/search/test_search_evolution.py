"""The search as a whole: repeatable, resumable, without duplicates, and better than chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search import Origin
from gi_cuda.search.loop import End, Evolution, Progress
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.store import Store
from gi_cuda.subject import Subject

Make = Callable[..., Any]
Evolve = Callable[..., Evolution]
Measuring = Callable[[Genotype], Evaluation]


def finish(search: Evolution) -> list[Progress]:
    return list(search.run())


def story(store: Store) -> tuple[object, ...]:
    """All that a search decided: individuals, tallies, tabu keys."""
    tallies = [(one.number, one.tally) for one in store.generations()]
    return store.individuals(), tallies, store.tabu()


@pytest.fixture(scope="module")
def whole(simulated: Make, evolution: Evolve, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An uninterrupted search, and the evaluator that it used."""
    path = tmp_path_factory.mktemp("whole") / "run.db"
    evaluator = simulated()
    with Store(path, create=True) as store:
        search = evolution(store, evaluator)
        steps = finish(search)
        yield store, evaluator, search, steps


def test_every_generation_is_bred_evaluated_and_accounted_for(whole: Any) -> None:
    store, evaluator, search, steps = whole
    assert search.end is End.COMPLETE
    generations = store.generations()
    assert [one.number for one in generations] == list(range(5))
    for one in generations:
        assert one.finished
        tally = one.tally
        assert tally.created == 12 + tally.genotype_duplicates + tally.phenotype_duplicates
        assert sum(one.outcomes.values()) == 12
    assert sum(one.tally.genotype_duplicates for one in generations) > 0
    assert set(evaluator.evaluated) == {one.ident for one in store.individuals()}
    assert [step.generation for step in steps if step.ident is None] == list(range(5))
    assert [step.ident for step in steps if step.ident] == list(evaluator.evaluated)


def test_what_is_tabu_is_never_evaluated(whole: Any, scale: Subject) -> None:
    store, evaluator, _, _ = whole
    genotypic = [scale.key(genotype) for genotype in evaluator.evaluated.values()]
    assert len(set(genotypic)) == len(genotypic)
    assert scale.key(scale.original) not in genotypic
    phenotypic = [evaluator.key(genotype) for genotype in evaluator.evaluated.values()]
    known = [key for key in phenotypic if key]
    assert len(set(known)) == len(known)
    assert None in phenotypic  # what does not preprocess is no duplicate of another such thing
    tabu = store.tabu()
    assert set(genotypic) <= tabu.genotypes
    assert set(known) <= tabu.phenotypes


def test_the_reference_is_not_evaluated_in_another_guise(
    scale: Subject, simulated: Make, evolution: Evolve, tmp_path: Path
) -> None:
    """Edits of code that is not compiled leave the reference's phenotype."""
    blind = replace(PAPER, configuration=0.0, hidden=1.0)
    evaluator = simulated()
    with Store(tmp_path / "run.db", create=True) as store:
        finish(evolution(store, evaluator, "random", rates=blind, population=40, generations=2))
        assert evaluator.keys
        assert store.generations()[0].tally.phenotype_duplicates > 0
    original = evaluator.key(scale.original)
    assert original is not None
    assert evaluator.evaluated
    assert all(evaluator.key(one) != original for one in evaluator.evaluated.values())


def test_children_have_faster_parents_of_the_generation_before(whole: Any) -> None:
    store, _, _, _ = whole
    evaluations = store.evaluations()
    by_number = {one.ident: one for one in store.individuals()}
    parents = [(one, by_number[parent]) for one in by_number.values() for parent in one.parents]
    made = {Origin.RANDOM, Origin.MUTATION, Origin.CROSSOVER}
    assert {one.origin for one in by_number.values()} == made
    for one, parent in parents:
        assert parent.generation == one.generation - 1
        assert evaluations[parent.ident].outcome is Outcome.FASTER


@pytest.mark.parametrize("preset", ["barracuda", "random"])
def test_the_same_seed_gives_the_same_run(
    preset: str, simulated: Make, evolution: Evolve, tmp_path: Path
) -> None:
    stories = []
    for name, seed in [("one", 1), ("same", 1), ("other", 2)]:
        with Store(tmp_path / name, create=True) as store:
            # Measurements end in another order each time; that must not matter.
            evaluator = simulated(order=random.Random(name))
            finish(evolution(store, evaluator, preset, seed=seed))
            stories.append(story(store))
    assert stories[0] == stories[1]
    assert stories[0] != stories[2]


def test_replaying_recorded_times_repeats_a_run_exactly(
    simulated: Make, evolution: Evolve, tmp_path: Path
) -> None:
    """Times differ from run to run, and selection with them; recorded ones bring a run back."""
    noise = random.Random("noise")

    def noisy(genotype: Genotype) -> Evaluation:
        ratio = noise.uniform(0.5, 1.5)
        verdict = Verdict.FASTER if ratio < 1 else Verdict.SLOWER
        return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio, ratio)

    with (
        Store(tmp_path / "recorded", create=True) as recorded,
        Store(tmp_path / "replayed", create=True) as replayed,
        Store(tmp_path / "other", create=True) as other,
    ):
        finish(evolution(recorded, simulated(measure=noisy)))
        evaluations = recorded.evaluations()
        record = {one.genotype: evaluations[one.ident] for one in recorded.individuals()}
        finish(evolution(replayed, simulated(measure=lambda genotype: record[str(genotype)])))
        assert story(replayed) == story(recorded)
        assert replayed.evaluations() == evaluations
        finish(evolution(other, simulated(measure=noisy)))
        assert story(other) != story(recorded)


class Death(Exception):
    """The end of a process in the middle of a measurement."""


def after(count: int) -> Callable[[], bool]:
    """False so many times, then True."""
    left = iter(range(count))
    return lambda: next(left, None) is None


def mortal(measure: Measuring, stop: Callable[[], bool]) -> Measuring:
    """The same measurements, until it is time to die."""

    def measure_or_die(genotype: Genotype) -> Evaluation:
        if stop():
            raise Death
        return measure(genotype)

    return measure_or_die


STOPS = st.lists(st.tuples(st.integers(0, 25), st.booleans()), min_size=1, max_size=6)


@settings(max_examples=8, deadline=None)
@given(stops=STOPS)
def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(
    stops: list[tuple[int, bool]],
    whole: Any,
    simulated: Make,
    evolution: Evolve,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Stopped after some evaluations, or dead in the middle of the next, any number of times."""
    path = tmp_path_factory.mktemp("stopped") / "run.db"
    Store(path, create=True).close()
    seen: dict[int, Genotype] = {}
    for count, dies in stops:
        evaluator = simulated(order=random.Random(count))
        stop = after(count)
        with Store(path) as store:
            if dies:
                evaluator.measure = mortal(evaluator.measure, stop)
                with suppress(Death):
                    finish(evolution(store, evaluator))
            else:
                finish(evolution(store, evaluator, stop=stop))
            done = {i: one for i, one in evaluator.evaluated.items() if i in store.evaluations()}
        assert not seen.keys() & done.keys(), "what was finished is evaluated again"
        seen |= done
    with Store(path) as store:
        last = simulated()
        search = evolution(store, last)
        finish(search)
        assert search.end is End.COMPLETE
        assert not seen.keys() & last.evaluated.keys()
        assert story(store) == story(whole[0])
        assert store.evaluations() == whole[0].evaluations()
        assert all(one.finished for one in store.generations())


def test_a_used_up_space_ends_the_run_with_a_message(
    tiny: Subject, simulated: Make, evolution: Evolve, tmp_path: Path
) -> None:
    evaluator = simulated(tiny)
    with Store(tmp_path / "run.db", create=True) as store:
        search = evolution(store, evaluator, population=30, generations=1000)
        finish(search)
        assert search.end is End.USED_UP
        assert "used up" in str(search.end)
        number = len(store.generations())
        assert number < 1000
        # Ten configurations keep the constraint; the statement is there or not, six launch bounds,
        # restrict or not: all of that has been tried but what has another's phenotype.
        tried = {evaluator.key(one) for one in evaluator.evaluated.values()} - {None}
        assert len(evaluator.evaluated) >= 0.9 * 10 * 2 * 6 * 2
        assert len(evaluator.evaluated) <= 10 * 2 * 6 * 2 - 1
        assert len(tried) >= 0.85 * 10 * 2 * 6 * 2
        # Going on with it changes nothing and says so again.
        again = evolution(store, evaluator, population=30, generations=1000)
        assert finish(again) == []
        assert again.end is End.USED_UP
        assert len(store.generations()) == number


def test_evolution_beats_random_search(simulated: Make, evolution: Evolve, tmp_path: Path) -> None:
    won = 0
    for seed in range(5):
        best = {}
        for preset in ("barracuda", "random"):
            with Store(tmp_path / f"{preset}{seed}", create=True) as store:
                numbers = {"population": 40, "generations": 6}
                finish(evolution(store, simulated(), preset, seed=seed, **numbers))
                assert len(store.evaluations()) == 240
                ((_, evaluation),) = store.best(1)
                best[preset] = evaluation.ratio
        assert best["barracuda"] <= best["random"]
        won += best["barracuda"] < best["random"]
    assert won >= 4
