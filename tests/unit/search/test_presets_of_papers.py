"""The presets of GEVO and Paraiso behave as in their papers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from gi_cuda.genome import Delete, Genotype, changes_of
from gi_cuda.search import PRESETS, Member, Origin
from gi_cuda.search.history import History
from gi_cuda.search.recipes import Crossover, Mutants
from gi_cuda.search.strategies import gevo, paraiso
from gi_cuda.search.strategies.gevo import Messy
from gi_cuda.search.strategies.paraiso import Draw, Triangulation
from gi_cuda.subject import Subject

Past = Callable[..., History]


@pytest.fixture
def past(scale: Subject) -> Past:
    """The history of a search that has bred these generations."""

    def make(*generations: list[Member]) -> History:
        variation = gevo.PRESET.vary(scale)
        return History(variation, 1, set(), lambda number: generations[number], len(generations))

    return make


def member(ident: int, genotype: Genotype, ratio: float, *, right: bool = True) -> Member:
    median = ratio if right else float("inf")
    return Member(ident, genotype, median, right and ratio < 1, right, median, 0.01)


@pytest.fixture
def mutants(scale: Subject) -> list[Genotype]:
    """Deletions of different statements."""
    grammar = scale.grammar
    places = [rule.name for rule in grammar.rules if rule.name.startswith("_")]
    return [Genotype(scale.space.default, (Delete(place),)) for place in places]


# -- GEVO ------------------------------------------------------------------------------------------


def test_gevo_has_the_published_numbers() -> None:
    assert PRESETS["gevo"].settings.population == 256
    assert (gevo.ELITES, gevo.CROSSOVER, gevo.MUTATION) == (4, 0.8, 0.3)
    assert PRESETS["gevo"].rates.pairs == pytest.approx(2 / 6)


def test_the_first_generation_has_three_mutations_each(past: Past) -> None:
    recipes = PRESETS["gevo"].strategy(gevo.SETTINGS).recipes(past(), random.Random(1))
    assert recipes == [Mutants((), 3)] * 256


def test_gevo_breeds_from_all_that_is_right_and_keeps_its_elite(
    past: Past, mutants: list[Genotype]
) -> None:
    best = member(1, mutants[0], 0.5)
    early = [best, member(2, mutants[1], 0.9, right=False), member(3, mutants[1], 3.0)]
    later = [member(number, mutants[2], 1.5) for number in range(10, 40)]
    settings = replace(gevo.SETTINGS, population=20)
    found = gevo.Gevo(settings).recipes(past(early, later), random.Random(1))
    parents = Counter(parent for one in found for parent in one.parents)
    assert len(found) == 20
    assert 2 not in parents
    assert parents[1] > 0, "the best is kept, though twenty right ones came after it"
    assert not set(parents) & set(range(13, 20)), "the latest fill the population"


def test_most_children_have_two_parents_and_the_better_one_wins(
    past: Past, mutants: list[Genotype]
) -> None:
    everyone = [member(number, mutants[0], 0.5 + number / 100) for number in range(1, 51)]
    settings = replace(gevo.SETTINGS, population=2000)
    found = gevo.Gevo(settings).recipes(past(everyone), random.Random(1))
    crossed = [one for one in found if isinstance(one, Messy)]
    assert 0.7 < len(crossed) / len(found) < 0.85
    assert 0.25 < sum(one.mutated for one in crossed) / len(crossed) < 0.35
    drawn = Counter(parent for one in found for parent in one.parents)
    assert sum(drawn[number] for number in range(1, 26)) > 2 * sum(
        drawn[number] for number in range(26, 51)
    )


def test_a_messy_child_has_edits_of_both_and_none_twice(
    scale: Subject, mutants: list[Genotype]
) -> None:
    both = Genotype(scale.space.default, mutants[0].edits + mutants[1].edits)
    other = Genotype(scale.space.default, mutants[1].edits + mutants[2].edits)
    recipe = Messy(member(1, both, 0.9), member(2, other, 0.8), mutated=False)
    rng, seen = random.Random(1), set[int]()
    for _ in range(60):
        child = recipe.make(gevo.PRESET.vary(scale), set(), rng)
        assert child is not None
        assert set(child.edits) <= {*both.edits, *other.edits}
        assert len(set(child.edits)) == len(child.edits)
        seen.add(len(child.edits))
    assert seen == {0, 1, 2, 3}


# -- Paraiso ---------------------------------------------------------------------------------------


def test_a_third_each_is_mutated_crossed_and_triangulated(
    past: Past, mutants: list[Genotype]
) -> None:
    everyone = [member(number, mutants[0], 1.0) for number in range(1, 31)]
    settings = replace(paraiso.SETTINGS, population=900, cohorts=1)
    found = paraiso.Paraiso(settings).recipes(past(everyone), random.Random(1))
    counts = Counter(type(one) for one in found)
    assert set(counts) == {Mutants, Crossover, Triangulation}
    assert all(250 < count < 350 for count in counts.values())


def test_whoever_was_measured_may_be_a_parent_the_better_the_likelier(
    past: Past, mutants: list[Genotype]
) -> None:
    early = [member(number, mutants[0], 2.0) for number in range(1, 11)]
    later = [member(number, mutants[1], 0.5) for number in range(11, 21)]
    settings = replace(paraiso.SETTINGS, population=600, cohorts=1)
    found = paraiso.Paraiso(settings).recipes(past(early, later), random.Random(1))
    drawn = Counter(parent for one in found for parent in one.parents)
    slow, fast = (sum(drawn[n] for n in some) for some in (range(1, 11), range(11, 21)))
    assert 0 < slow < fast


def test_what_is_uncertain_counts_for_less(mutants: list[Genotype]) -> None:
    """A score far below the best is drawn more often if its standard deviation is large."""
    best = member(1, mutants[0], 0.5)
    drawn = []
    for spread in (0.001, 2.0):
        worse = replace(member(2, mutants[1], 0.8), spread=spread)
        draw, rng = Draw([best, worse], best), random.Random(1)
        drawn.append(sum(draw.parents(1, rng)[0] is worse for _ in range(400)))
    assert drawn[0] < drawn[1]


def test_triangulation(scale: Subject, mutants: list[Genotype]) -> None:
    """The best parent decides on a change if the other two agree on it, else the second best."""
    a, b, c, d = (one.edits[0] for one in mutants[:4])

    def having(ident: int, ratio: float, *edits: Delete) -> Member:
        return member(ident, Genotype(scale.space.default, edits), ratio)

    recipe = Triangulation(
        having(1, 1.3, a, b),  # type: ignore[arg-type]
        having(2, 1.2, b, c),  # type: ignore[arg-type]
        having(3, 1.1, b, d),  # type: ignore[arg-type]
    )
    child = recipe.make(paraiso.PRESET.vary(scale), set(), random.Random(1))
    assert child is not None
    assert set(changes_of(child)) == {b, c, d}
    assert recipe.origin is Origin.TRIANGULATION
    assert recipe.parents == (1, 2, 3)
