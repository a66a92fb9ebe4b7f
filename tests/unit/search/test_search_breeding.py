"""Selection and recipes, with fallbacks (Langdon et al., GECCO 2015, section 2.6)."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.genome import Delete, Genotype
from gi_cuda.search import Member, Origin, Tabu, breed
from gi_cuda.search.breeding import fill
from gi_cuda.search.history import History
from gi_cuda.search.recipes import Crossover, Fresh, Mutation, Variation
from gi_cuda.search.strategies.barracuda import PAPER, PRESET, SETTINGS, Barracuda
from gi_cuda.search.strategies.random_search import RandomSearch
from gi_cuda.subject import Subject

from .conftest import SimulatedTrial

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def genotypes(scale: Subject) -> list[Genotype]:
    """Different mutants."""
    rng = random.Random(0)
    found: dict[bytes, Genotype] = {}
    while len(found) < 60:
        one = scale.original
        for _ in range(3):
            one = PRESET.vary(scale).mutate(one, rng) or one
        found[scale.key(one)] = one
    return list(found.values())


def members(scores: list[tuple[float, bool]], genotypes: list[Genotype]) -> list[Member]:
    return [
        Member(ident, genotypes[ident % len(genotypes)], ratio, selectable)
        for ident, (ratio, selectable) in enumerate(scores, start=1)
    ]


def after(everyone: list[Member]) -> History:
    """The history of a search that has bred one generation."""
    return History(None, 1, set(), lambda number: everyone, 1)  # type: ignore[arg-type]


RATIOS = st.one_of(st.sampled_from([0.5, 0.9]), st.floats(0.1, 3), st.just(math.inf))
SCORES = st.lists(st.tuples(RATIOS, st.booleans()), max_size=40)


# -- selection -------------------------------------------------------------------------------------


@given(SCORES, st.integers(1, 40))
def test_the_best_half_at_most_become_parents_and_only_those_that_may(
    scores: list[tuple[float, bool]], population: int
) -> None:
    everyone = members(scores, [None])  # type: ignore[list-item]
    parents = Barracuda(replace(SETTINGS, population=population)).parents(everyone)
    assert all(one.selectable for one in parents)
    able = [one for one in everyone if one.selectable]
    assert len(parents) == min(len(able), population // 2)
    assert [one.ratio for one in parents] == sorted(one.ratio for one in able)[: len(parents)]
    # Equal times are told apart by number, so that a replayed run selects the same.
    assert parents == sorted(parents, key=lambda one: (one.ratio, one.ident))


@given(SCORES, st.integers(1, 40), st.integers(0, 5))
def test_each_parent_gets_a_mutant_and_a_crossover_and_random_mutants_fill_up(
    scores: list[tuple[float, bool]], population: int, seed: int
) -> None:
    everyone = members(scores, [None])  # type: ignore[list-item]
    strategy = Barracuda(replace(SETTINGS, population=population))
    recipes = strategy.recipes(after(everyone), random.Random(seed))
    parents = strategy.parents(everyone)
    assert len(recipes) == population
    mutants = Counter(one.parent.ident for one in recipes if isinstance(one, Mutation))
    crossed = [one for one in recipes if isinstance(one, Crossover)]
    if len(parents) == 1:  # it has no mate
        assert mutants == {parents[0].ident: 2}
        assert not crossed
    else:
        assert mutants == Counter(one.ident for one in parents)
        assert Counter(one.first.ident for one in crossed) == mutants
    assert all(one.second in parents and one.second is not one.first for one in crossed)
    assert sum(isinstance(one, Fresh) for one in recipes) == population - 2 * len(parents)


def test_mates_are_drawn_from_all_parents() -> None:
    everyone = members([(0.5 + i / 100, True) for i in range(10)], [None])  # type: ignore[list-item]
    strategy = Barracuda(replace(SETTINGS, population=20))
    mates = Counter[int]()
    for seed in range(200):
        recipes = strategy.recipes(after(everyone), random.Random(seed))
        mates.update(r.second.ident for r in recipes if isinstance(r, Crossover))
    assert set(mates) == set(range(1, 11))
    assert max(mates.values()) < 1.5 * min(mates.values())


def test_random_search_learns_nothing() -> None:
    everyone = members([(0.1, True)] * 10, [None])  # type: ignore[list-item]
    recipes = RandomSearch(replace(SETTINGS, population=7)).recipes(
        after(everyone), random.Random(1)
    )
    assert recipes == [Fresh(SETTINGS.depth)] * 7


# -- recipes ---------------------------------------------------------------------------------------


def test_a_child_is_entered_in_the_tabu_list_at_once(scale: Subject) -> None:
    tabu, rng = Tabu(), random.Random(1)
    attempt = fill(Fresh(12), PRESET.vary(scale), tabu, SETTINGS, rng)
    assert attempt.child is not None
    assert tabu.genotypes == {attempt.child.key} == {scale.key(attempt.child.genotype)}
    assert attempt.duplicates == 0
    assert tabu.take_new() == ([attempt.child.key], [])
    assert tabu.take_new() == ([], [])


def test_crossover_of_two_alike_falls_back_to_a_mutant_of_the_first(scale: Subject) -> None:
    one = Genotype(scale.space.default.having({"CHECKED": 1}))
    first, second = Member(5, one, 0.5, True), Member(9, one, 0.6, True)
    recipe, rng = Crossover(first, second, 12), random.Random(1)
    attempt = fill(recipe, PRESET.vary(scale), Tabu(), SETTINGS, rng)
    assert attempt.child is not None
    assert attempt.child.origin is Origin.MUTATION
    assert attempt.child.parents == (5,)
    child = attempt.child.genotype
    assert child.edits or child.configuration != one.configuration


def test_crossover_that_only_gives_tabu_children_falls_back(scale: Subject) -> None:
    """Two parents with one edit each: all their children are known soon."""
    configuration = scale.space.default
    first = Member(1, Genotype(configuration, (Delete("_kernel.cu_27"),)), 0.5, True)
    second = Member(2, Genotype(configuration, (Delete("_kernel.cu_22"),)), 0.6, True)
    tabu, rng = Tabu([scale.key(m.genotype) for m in (first, second)]), random.Random(1)
    tabu.add_genotype(scale.key(scale.original))
    origins = []
    duplicates = 0
    for _ in range(10):
        attempt = fill(Crossover(first, second, 12), PRESET.vary(scale), tabu, SETTINGS, rng)
        assert attempt.child is not None
        origins.append(attempt.child.origin)
        duplicates += attempt.duplicates
    assert origins[0] is Origin.CROSSOVER
    assert origins[-1] is Origin.MUTATION
    assert origins.count(Origin.CROSSOVER) == 1  # both edits; any other child is known
    assert duplicates > 0


def test_a_random_mutant_has_one_mutation_while_there_are_new_ones(tiny: Subject) -> None:
    """Later it gets more; so every variant of a small space is reached."""
    tabu, rng = Tabu([tiny.key(tiny.original)]), random.Random(1)
    sizes = []
    while (attempt := fill(Fresh(12), PRESET.vary(tiny), tabu, SETTINGS, rng)).child is not None:
        child = attempt.child.genotype
        sizes.append(len(child.configuration.changed) + len(child.edits))
    assert sizes[0] == 1
    assert max(sizes) > 2
    assert sum(sizes[:20]) < sum(sizes[-20:])
    assert len(sizes) > 0.9 * 239
    assert attempt.recipe is None


# -- a whole generation -----------------------------------------------------------------------


@given(seed=st.integers(0, 30), parents=st.integers(0, 6), population=st.integers(1, 14))
def test_offspring_are_all_new_and_every_place_is_filled(
    seed: int,
    parents: int,
    population: int,
    scale: Subject,
    simulated: Make,
    genotypes: list[Genotype],
) -> None:
    rng = random.Random(seed)
    numbers = replace(SETTINGS, population=population)
    everyone = members([(0.5 + i / 100, True) for i in range(parents)], genotypes)
    known = [scale.key(one) for one in (scale.original, *genotypes)]
    evaluator = simulated()
    phenotypes = [key for one in genotypes if (key := evaluator.key(one))]
    tabu = Tabu(known, phenotypes)
    recipes = Barracuda(numbers).recipes(after(everyone), rng)
    offspring = breed(recipes, PRESET.vary(scale), evaluator, tabu, numbers, rng, first=100)
    children = list(offspring.children.values())
    assert len(children) == population
    assert min(offspring.children) >= 100
    assert not {child.key for child in children} & set(known)
    assert len({child.key for child in children}) == population
    keys = [one.key for one in offspring.prepared.values() if one.key is not None]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(phenotypes)
    assert (
        offspring.created
        == population + offspring.genotype_duplicates + offspring.phenotype_duplicates
    )
    by_number = {one.ident: one.genotype for one in everyone}
    for child in children:
        assert scale.space.allows(child.genotype.configuration)
        if child.origin is Origin.MUTATION:
            (parent,) = child.parents
            assert child.genotype.edits[: len(by_number[parent].edits)] == by_number[parent].edits
        if child.origin is Origin.CROSSOVER:
            genes = {edit for parent in child.parents for edit in by_number[parent].edits}
            assert set(child.genotype.edits) <= genes
        if child.origin is Origin.RANDOM:
            assert child.parents == ()


class Alike:
    """An evaluator to which everything looks the same but for the configuration."""

    def __init__(self) -> None:
        self.asked = 0

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, SimulatedTrial]:
        self.asked += len(batch)
        return {
            ident: SimulatedTrial(one, str(one.configuration.settings).encode())
            for ident, one in batch.items()
        }

    def evaluate(self, batch: Mapping[int, Genotype], stop: object) -> Any:
        raise AssertionError("breeding evaluates nothing")


class Repeating:
    """An evaluator to which the first so many look like one that was tried."""

    def __init__(self, seen: int) -> None:
        self.left = seen
        self.tabu = Tabu((), {b"seen"})

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, SimulatedTrial]:
        made = {}
        for ident, one in batch.items():
            made[ident] = SimulatedTrial(one, b"seen" if self.left else str(ident).encode())
            self.left = max(0, self.left - 1)
        return made

    def evaluate(self, batch: Mapping[int, Genotype], stop: object) -> Any:
        raise AssertionError("breeding evaluates nothing")


def test_phenotypic_duplicates_are_dropped_and_their_places_filled_again(scale: Subject) -> None:
    """Five configurations, each flag on or off: ten phenotypes, so ten children and an end."""
    evaluator, tabu, rng = Alike(), Tabu(), random.Random(1)
    numbers = replace(SETTINGS, population=20)
    offspring = breed([Fresh(12)] * 20, PRESET.vary(scale), evaluator, tabu, numbers, rng, first=1)
    assert len(offspring.children) <= 10
    assert len(offspring.children) == len(tabu.phenotypes) >= 6
    assert offspring.phenotype_duplicates == evaluator.asked - len(offspring.children) > 0
    assert offspring.created == evaluator.asked + offspring.genotype_duplicates
    # Dropped children stay tabu: their genotypes are not made again.
    assert len(tabu.genotypes) == evaluator.asked
    again = breed([Fresh(12)] * 20, PRESET.vary(scale), evaluator, tabu, numbers, rng, first=500)
    assert len(tabu.phenotypes) == len(offspring.children) + len(again.children) <= 10


def test_a_place_is_filled_once_more_by_the_recipe_whose_child_was_a_duplicate(
    scale: Subject,
) -> None:
    """So what was to be a mutant of a parent is one, and not at once a random one."""
    parent = Member(1, scale.original, 0.5, True)
    origins = []
    for seen in range(4):
        evaluator = Repeating(seen)
        rng, variation = random.Random(1), PRESET.vary(scale)
        numbers = replace(SETTINGS, population=1)
        offspring = breed(
            [Mutation(parent, 12)], variation, evaluator, evaluator.tabu, numbers, rng, first=2
        )
        (child,) = offspring.children.values()
        assert offspring.phenotype_duplicates == seen
        origins.append(child.origin)
    assert origins == [Origin.MUTATION, Origin.MUTATION, Origin.RANDOM, Origin.RANDOM]


def test_where_nothing_can_be_made_the_offspring_is_empty(tiny: Subject, simulated: Make) -> None:
    class Stuck(Variation):
        def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
            return None

    stuck = Stuck(tiny, tiny.original, PAPER)
    parent = Member(1, tiny.original, 0.5, True)
    recipes = [Fresh(12), Mutation(parent, 12), Crossover(parent, parent, 12)]
    offspring = breed(recipes, stuck, simulated(tiny), Tabu(), SETTINGS, random.Random(1), first=1)
    assert offspring.children == {}
    assert offspring.created == 0


def test_numbers_of_offspring_follow_on(scale: Subject, simulated: Make) -> None:
    tabu, rng, variation = Tabu(), random.Random(1), PRESET.vary(scale)
    numbers = replace(SETTINGS, population=5)
    offspring = breed([Fresh(12)] * 5, variation, simulated(), tabu, numbers, rng, first=17)
    assert next(iter(offspring.children)) == 17
    assert list(offspring.children) == sorted(offspring.children)
