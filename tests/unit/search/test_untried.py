"""Untried edits, and the order in which they are drawn."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gi_cuda.genome import Edit, Genotype
from gi_cuda.results.verdict import Verdict
from gi_cuda.search.adaptive.guided import Guided, drawn
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.untried import Untried
from gi_cuda.search.recipes import Fresh, Variation
from gi_cuda.subject import Subject

from .conftest import deletion_at, judged


def test_an_edit_is_drawn_once_and_none_that_was_tried(variation: Variation) -> None:
    original = variation.original
    known, rng, keys, seen = Knowledge(variation, 1), random.Random(1), set[bytes](), list[Edit]()
    while (edit := drawn(known, known.ground.genotype, keys, rng)) is not None:
        seen.append(edit)
        keys.add(variation.subject.key(Genotype(original.configuration, (edit,))))
    assert len(seen) > 20
    assert len(set(seen)) == len(seen)
    half = seen[: len(seen) // 2]
    members = [
        judged(n, Genotype(original.configuration, (one,)), None)
        for n, one in enumerate(half, start=1)
    ]
    known = Knowledge(variation, 1)
    known.take(members)
    keys, again = set(), set()
    while (edit := drawn(known, known.ground.genotype, keys, rng)) is not None:
        again.add(edit)
        keys.add(variation.subject.key(Genotype(original.configuration, (edit,))))
    assert again == set(seen) - set(half)
    exhausted = Guided(known, known.ground, Fresh(1))
    assert exhausted.fallback() == Fresh(1)


def test_code_that_a_faster_value_lets_in_is_edited_as_well(
    scale: Subject, variation: Variation
) -> None:
    checked = Genotype(scale.space.default.having({"CHECKED": 1}))
    line = scale.grammar.source.text[: scale.grammar.source.text.index("0 * tile")].count("\n") + 1
    known = Knowledge(variation, 1)

    def lines() -> set[int]:
        keys, found, rng = set[bytes](), set[int](), random.Random(1)
        while (edit := drawn(known, known.ground.genotype, keys, rng)) is not None:
            genotype = Genotype(known.ground.genotype.configuration, (edit,))
            keys.add(scale.key(genotype))
            found.add(scale.grammar.rule(edit.place).line)
        return found

    assert line not in lines()
    known.take([judged(1, checked, Verdict.FASTER, 0.9)])
    assert known.ground.ident == 1
    assert line in lines()
    edit = deletion_at(scale, line)
    known.take([judged(2, Genotype(checked.configuration, (edit,)), Verdict.FASTER, 0.8, (1,))])
    assert known.ground.ident == 1, "what has edits is no ground"
    assert known.gains[edit] == pytest.approx(0.9 / 0.8)
    assert edit in known.tried


def test_what_is_drawn_next_does_not_depend_on_what_was_looked_at_before(
    variation: Variation,
) -> None:
    """A search that is resumed has looked at nothing yet."""
    original = variation.original
    begun, keys = Knowledge(variation, 1), set[bytes]()
    for seed in range(60):
        edit = drawn(begun, begun.ground.genotype, keys, random.Random(seed))
        assert edit is not None
        keys.add(variation.subject.key(Genotype(original.configuration, (edit,))))
    resumed = Knowledge(variation, 1)
    for seed in range(1000, 1020):
        one, other = (
            drawn(known, known.ground.genotype, keys, random.Random(seed))
            for known in (begun, resumed)
        )
        assert one == other


def test_searches_with_other_seeds_try_edits_in_other_orders(variation: Variation) -> None:
    one, same, other = (
        Knowledge(variation, seed).untried(variation.original) for seed in (1, 1, 2)
    )

    def first(untried: Untried) -> list[Edit | None]:
        return [untried.next(place, kind, ()) for place in one.kinds for kind in one.kinds[place]]

    assert first(one) == first(same) != first(other)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_mutants_may_be_moves_and_swaps(variation: Variation, share: float) -> None:
    known, rng = Knowledge(variation, 1), random.Random(1)
    rates = replace(variation.rates, configuration=0.0)
    drawing = Guided(known, known.ground, Fresh(1), share)
    for _ in range(20):
        mutant = drawing.make(replace(variation, rates=rates), set(), rng)
        assert mutant is not None
        edits = mutant.edits
        assert len(edits) == (2 if share else 1)
        assert edits[-1].completes(edits[0]) == bool(share)


def test_of_rules_with_equal_prospects_those_with_few_edits_come_first(
    variation: Variation,
) -> None:
    numbers = Knowledge(variation, 1).untried(variation.original).numbers
    few, many = min(numbers.values()), max(numbers.values())
    assert few < many / 4

    def mean_turn(number: int) -> float:
        """Return the mean rank (0 first, 1 last) of edits at rules with `number` possible edits."""
        turns = []
        for seed in range(12):
            known, rng, keys, order = Knowledge(variation, seed), random.Random(seed), set(), []
            while (edit := drawn(known, known.ground.genotype, keys, rng)) is not None:
                order.append(edit.place)
                keys.add(variation.subject.key(Genotype(variation.original.configuration, (edit,))))
            turns += [at / len(order) for at, place in enumerate(order) if numbers[place] == number]
        return sum(turns) / len(turns)

    assert mean_turn(few) < 0.4 < 0.5 < mean_turn(many)
