"""Rivals of the best individual from which the preset ``adaptive`` continues."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from gi_cuda.genome import Delete, Genotype, changes_of
from gi_cuda.search import Member, Origin
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.parts import Together, exchanged, fitting
from gi_cuda.search.adaptive.rivals import Rivals
from gi_cuda.search.adaptive.tried import Tried
from gi_cuda.search.recipes import Fresh, Given, Mutation, Recipe
from gi_cuda.search.strategies import adaptive
from gi_cuda.subject import Subject


@pytest.fixture(scope="module")
def edits(scale: Subject) -> list[Delete]:
    view = scale.grammar.under(scale.original.configuration.macros)
    return [Delete(place) for place in view.mutable if place.startswith("_")]


def tried(scale: Subject, ident: int, ratio: float, block: int, *edits: Delete) -> Tried:
    configuration = scale.space.default.having({"BLOCK": block})
    genotype = Genotype(configuration, edits)
    return Tried(ident, genotype, frozenset(changes_of(genotype)), ratio, ratio)


def draws(rivals: Rivals, best: Tried, gain: float) -> Counter[int]:
    found = (rivals.drawn(best, gain, Random(seed)) for seed in range(400))
    return Counter(one.ident for one in found if one)


def test_the_best_of_each_other_configuration_is_a_rival(
    scale: Subject, edits: list[Delete]
) -> None:
    a, b = edits[:2]
    best = tried(scale, 1, 0.5, 64, a)
    rivals = Rivals()
    assert rivals.drawn(best, 0.1, Random(1)) is None
    for one in (
        best,
        tried(scale, 2, 0.55, 64, b),
        tried(scale, 3, 0.7, 32),
        tried(scale, 4, 0.6, 32, b),
        tried(scale, 5, 0.65, 32, a),
        tried(scale, 6, 0.6, 128),
    ):
        rivals.take(one)
    assert {one.ident for one in rivals.others(best)} == {4, 6}
    found = draws(rivals, best, 0.1)
    assert found.keys() == {4, 6}
    assert min(found.values()) > 120, "what is as fast is drawn as often"


def test_what_had_children_in_vain_is_drawn_less_and_what_is_slow_hardly_at_all(
    scale: Subject,
) -> None:
    best = tried(scale, 1, 0.5, 64)
    rivals = Rivals()
    for one in (best, tried(scale, 2, 0.6, 32), tried(scale, 3, 0.9, 128)):
        rivals.take(one)
    assert draws(rivals, best, 0.05)[3] == 0
    hoped = draws(rivals, best, 0.4)[3]
    assert 0 < hoped < 200
    rivals.children[2] = 500
    assert draws(rivals, best, 0.4)[3] > 1.5 * hoped


def test_the_edits_of_the_best_are_tried_with_the_values_of_others(
    scale: Subject, edits: list[Delete]
) -> None:
    best = tried(scale, 1, 0.5, 64, *edits[:2])
    other = tried(scale, 7, 0.6, 32, edits[2])
    (recipe,) = exchanged(best, [other], Fresh(1))
    assert isinstance(recipe, Given)
    assert recipe.genotype == tried(scale, 0, 0.5, 32, *edits[:2]).genotype
    assert (recipe.origin, recipe.parents) == (Origin.CROSSOVER, (7, 1))


def test_where_nothing_is_left_to_be_added_to_the_best_a_rival_takes_its_place(
    scale: Subject, edits: list[Delete]
) -> None:
    known = Knowledge(adaptive.PRESET.vary(scale), 1)
    best, other = tried(scale, 1, 0.5, 64, edits[0]), tried(scale, 2, 0.6, 32)
    known.take(
        [Member(one.ident, one.genotype, one.ratio, True, True, one.ratio) for one in (best, other)]
    )
    search = adaptive.Adaptive(adaptive.SETTINGS, replace(adaptive.SHARES, rival=0.0))
    for seed in range(20):
        rng = Random(seed)
        union = search._union(known, fitting, known.rival(rng), rng)
        assert isinstance(union, Together)
        assert union.base.ident == 1
        instead = union.fallback()
        assert isinstance(instead, Together)
        assert instead.base.ident in (0, 2)
        last: Recipe | None = instead.fallback()
        while isinstance(last, Mutation):
            last = last.fallback()
        assert last == Fresh(adaptive.SETTINGS.depth)
