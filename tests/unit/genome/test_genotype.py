"""The canonical order of edits, and keys."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.genome import (
    Delete,
    Edit,
    Genotype,
    Insert,
    Replace,
    Space,
    canonical,
    expansions,
    key,
    rule_order,
)
from gi_cuda.grammar import Grammar, render
from tests.swap import Swap


@pytest.fixture(scope="module")
def order(grammar: Grammar) -> dict[str, int]:
    return rule_order(grammar.rules)


def touched(edit: Edit) -> set[tuple[str, bool]]:
    return {(step.place, step.removes) for step in edit.steps}


def reordered(edits: Sequence[Edit], rng: random.Random) -> tuple[Edit, ...]:
    """A random order that keeps that of removals of one rule's text, and of inserts before one."""
    left, result = list(edits), []
    while left:
        free, seen = [], set[tuple[str, bool]]()
        for at, edit in enumerate(left):
            if seen.isdisjoint(touched(edit)):
                free.append(at)
            seen |= touched(edit)
        result.append(left.pop(rng.choice(free)))
    return tuple(result)


@given(data=st.data())
def test_canonical_is_idempotent(data, genotypes, order) -> None:
    once = canonical(data.draw(genotypes), order)
    assert canonical(once, order) == once


@given(data=st.data())
def test_canonical_renders_the_same(data, genotypes, order, grammar) -> None:
    genotype = data.draw(genotypes)
    assert render(grammar, expansions(canonical(genotype, order).edits), None) == render(
        grammar, expansions(genotype.edits), None
    )


@given(data=st.data(), rng=st.randoms(use_true_random=False))
def test_edits_that_do_not_interact_commute(data, rng, genotypes, order) -> None:
    genotype = data.draw(genotypes)
    other = Genotype(genotype.configuration, reordered(genotype.edits, rng))
    assert canonical(other, order) == canonical(genotype, order)
    assert key(other, order) == key(genotype, order)


@given(data=st.data(), rng=st.randoms(use_true_random=False))
def test_edits_of_two_rules_have_a_canonical_order(data, rng, mixtures, space, order) -> None:
    made = Genotype(space.default, tuple(data.draw(mixtures)))
    once = canonical(made, order)
    assert canonical(once, order) == once
    assert canonical(replace(made, edits=reordered(made.edits, rng)), order) == once
    assert expansions(once.edits) == expansions(made.edits)
    for one, following in pairwise(once.edits):
        in_order = order[one.place] <= order[following.place]
        assert in_order or not touched(one).isdisjoint(touched(following))


@given(data=st.data())
def test_keys_are_equal_iff_canonical_texts_are(data, genotypes, order) -> None:
    one, other = data.draw(genotypes), data.draw(genotypes)
    same = str(canonical(one, order)) == str(canonical(other, order))
    assert (key(one, order) == key(other, order)) is same
    assert (canonical(one, order) == canonical(other, order)) is same


def test_inserts_on_one_rule_do_not_commute(space: Space, order, grammar) -> None:
    one, other = Insert("_k.cu_4", "_k.cu_3"), Insert("_k.cu_4", "_k.cu_5")
    ahead, behind = Genotype(space.default, (one, other)), Genotype(space.default, (other, one))
    assert key(ahead, order) != key(behind, order)
    assert render(grammar, expansions(ahead.edits), None) != render(
        grammar, expansions(behind.edits), None
    )


def test_the_last_body_drops_the_others(space: Space, order) -> None:
    place = "_k.cu_4"
    edits = (Delete(place), Insert(place, "_k.cu_3"), Replace(place, "_k.cu_3"))
    genotype = Genotype(space.default, edits)
    assert canonical(genotype, order).edits == (edits[2], edits[1])


def test_an_edit_of_two_rules_stays_while_one_of_them_counts(space: Space, order) -> None:
    one, other = "_k.cu_4", "_k.cu_5"
    made = Genotype(space.default, (Swap(other, one), Delete(one)))
    assert canonical(made, order) == made
    more = replace(made, edits=(*made.edits, Delete(other)))
    assert canonical(more, order).edits == (Delete(one), Delete(other))


def test_text_has_changed_values_and_edits(space: Space) -> None:
    genotype = Genotype(
        space.default.having({"BLOCK_W": 64, "SECOND": 1}),
        (Delete("a"), Replace("b", "c"), Insert("d", "e")),
    )
    assert str(genotype) == "BLOCK_W=64 SECOND=1 <a> <b><c> <d>+<e>"
    assert str(Genotype(space.default)) == ""


def test_key_is_the_same_on_every_machine(space: Space) -> None:
    genotype = Genotype(space.default.having({"BLOCK_W": 64}), (Delete("_k.cu_3"),))
    assert key(genotype, {"_k.cu_3": 0}).hex() == "ad0417ec0baaf7cc4618683318389052"


def test_key_of_a_file_whose_name_is_not_utf8(space: Space) -> None:
    name = "_\udcff.cu_3"
    assert len(key(Genotype(space.default, (Delete(name),)), {name: 0})) == 16
