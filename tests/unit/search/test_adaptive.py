"""The parts of the preset ``adaptive``, each by itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.genome import Delete, Genotype, changes_of, with_changes
from gi_cuda.genome.space import Setting
from gi_cuda.results.verdict import Verdict
from gi_cuda.search import Member, Origin
from gi_cuda.search.adaptive import parts
from gi_cuda.search.adaptive.knowledge import Knowledge, place_of
from gi_cuda.search.adaptive.parts import (
    Maker,
    Together,
    deleting,
    fitting,
    gaining,
    near,
    neighbours,
    singles,
    without,
)
from gi_cuda.search.history import History
from gi_cuda.search.loop import Evolution
from gi_cuda.search.recipes import Fresh, Given, Variation
from gi_cuda.search.strategies import adaptive
from gi_cuda.subject import Subject

from .conftest import judged

Evolve = Callable[..., Evolution]
Make = Callable[..., Any]


@pytest.fixture(scope="module")
def deletions(scale: Subject) -> list[Delete]:
    view = scale.grammar.under(scale.original.configuration.macros)
    return [Delete(place) for place in view.mutable if place.startswith("_")]


# -- the sweep -------------------------------------------------------------------------------------


def test_the_sweep_has_each_deletion_and_each_neighbouring_value_once(
    scale: Subject, variation: Variation
) -> None:
    found = singles(variation)
    assert len({scale.key(one) for one in found}) == len(found)
    changes = [changes_of(one) for one in found]
    assert all(len(one) == 1 for one in changes)
    values = {str(one[0]) for one in changes if isinstance(one[0], Setting)}
    # 64 stands between 32 and 128, and twice as much work is more than the constraint allows with
    # 128 threads only.
    assert values == {"BLOCK=32", "BLOCK=128", "REPEAT=2", "CHECKED=1"}
    deleted = {one[0].place for one in changes if isinstance(one[0], Delete)}
    types = {scale.grammar.rule(place).type for place in deleted}
    assert {"_", "IF"} <= {str(one) for one in types}


def test_neighbours_keep_the_constraints(scale: Subject) -> None:
    most = Genotype(scale.space.default.having({"REPEAT": 2}))
    found = [one.configuration for one in neighbours(most)]
    assert found
    assert all(scale.space.allows(one) for one in found)
    assert 128 not in {one["BLOCK"] for one in found}


# -- changes ---------------------------------------------------------------------------------------


@given(data=st.data())
def test_what_is_added_can_be_taken_away(
    data: st.DataObject, scale: Subject, deletions: list[Delete]
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(deletions), unique=True, min_size=1))
    whole = with_changes(scale.original, [Setting("BLOCK", 32), *chosen])
    assert whole is not None
    assert set(changes_of(whole)) == {Setting("BLOCK", 32), *chosen}
    assert with_changes(whole, chosen) == whole
    assert without(whole, changes_of(whole)) == scale.original


# -- what is learned -------------------------------------------------------------------------------


def test_what_is_known_of_changes(variation: Variation, deletions: list[Delete]) -> None:
    a, b, c, d = deletions[:4]
    original = variation.original

    def having(*edits: Delete) -> Genotype:
        return Genotype(original.configuration, edits)

    known = Knowledge(variation, 1)
    known.take(
        [
            judged(1, having(a), Verdict.FASTER, 0.9),
            judged(2, having(b), Verdict.SAME),
            judged(3, having(c), None),
        ]
    )
    known.take(
        [
            judged(4, having(a, b), Verdict.FASTER, 0.9, (1,)),
            judged(5, having(a, d), None, parents=(1,)),
        ]
    )
    assert known.gains == {a: pytest.approx(1 / 0.9)}
    assert known.harmless == {a.place: [a], b.place: [b]}
    assert known.tried == {a, b, c}, "what is wrong beside others may be right alone"
    assert known.best.ident == 1, "of two as fast the shorter one"
    assert known.apart.ident == 0
    known.take([judged(6, having(b, c), Verdict.FASTER, 0.95)])
    assert known.apart.ident == 6


def test_how_long_the_best_has_stood_still(variation: Variation, deletions: list[Delete]) -> None:
    def after(ident: int, verdict: Verdict, ratio: float = 1.0) -> int:
        one = Genotype(variation.original.configuration, (deletions[ident],))
        known.take([judged(ident, one, verdict, ratio)])
        return known.idle

    known = Knowledge(variation, 1)
    assert after(1, Verdict.FASTER, 0.9) == 0
    assert [after(ident, Verdict.SAME) for ident in (2, 3)] == [1, 2]
    assert after(4, Verdict.FASTER, 0.895) == 3, "half a percent is no step"
    assert after(5, Verdict.FASTER, 0.8) == 0


def test_what_gained_is_put_together(variation: Variation, deletions: list[Delete]) -> None:
    some = deletions[:4]
    known = Knowledge(variation, 1)
    known.take(
        [
            judged(number, Genotype(variation.original.configuration, (one,)), Verdict.FASTER, 0.8)
            for number, one in enumerate(some, start=1)
        ]
    )
    maker = Maker(known.best, Fresh(1))
    found = gaining(known, maker, 4, random.Random(1))
    made = [set(changes_of(one.genotype)) for one in found if isinstance(one, Given)]
    assert all(known.best.changes < one for one in made)
    assert {len(one) for one in made} >= {2, 4}
    assert set(some) in made


def test_a_union_that_nobody_asks_for_is_not_made(
    variation: Variation, deletions: list[Delete], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late in a search hundreds of changes gain, and a cohort has places for a few unions."""
    known, made = Knowledge(variation, 1), list[Genotype | None]()
    known.gains |= dict.fromkeys(deletions, 1.1)

    def counted(*some: Any) -> Genotype | None:
        made.append(with_changes(*some))
        return made[-1]

    monkeypatch.setattr(parts, "with_changes", counted)
    found = gaining(known, Maker(known.best, Fresh(1)), 4, random.Random(1))
    first = [recipe.genotype for recipe in islice(found, 3) if isinstance(recipe, Given)]
    assert len(deletions) > 3
    assert made == first


def test_what_is_near_has_one_change_less_or_another_value(
    variation: Variation, deletions: list[Delete]
) -> None:
    whole = Genotype(variation.original.configuration, tuple(deletions[:3]))
    known = Knowledge(variation, 1)
    known.take([judged(1, whole, Verdict.FASTER, 0.8)])
    found = near(known, Maker(known.best, Fresh(1)), 8, random.Random(1))
    made = [one for one in found if isinstance(one, Given)]
    removed = [set(changes_of(one.genotype)) for one in made if one.origin is Origin.REMOVAL]
    assert [3 - len(one) for one in removed] == [1, 1, 1]
    moved = [changes_of(one.genotype) for one in made if one.origin is Origin.MUTATION]
    assert moved
    assert all(set(deletions[:3]) < set(one) and len(one) == 4 for one in moved)


def test_what_breaks_alone_is_deleted_beside_others(
    variation: Variation, deletions: list[Delete]
) -> None:
    """Deletions tried beside the fewest others come first; harmless ones are left out."""
    configuration = variation.original.configuration
    harmless, broken, other = deletions[:3]
    known = Knowledge(variation, 1)
    known.take(
        [
            judged(1, Genotype(configuration, (harmless,)), Verdict.SAME),
            judged(2, Genotype(configuration, (broken,)), None),
            judged(3, Genotype(configuration, (other,)), Verdict.FASTER, 0.8),
        ]
    )
    assert list(deleting(known, Maker(known.origin, Fresh(1)), 8, random.Random(1))) == []

    def offered() -> list[Delete]:
        found = deleting(known, Maker(known.best, Fresh(1)), 8, random.Random(1))
        made = [set(changes_of(one.genotype)) for one in found if isinstance(one, Given)]
        assert all(other in one and len(one) == 2 for one in made)
        return [one for some in made for one in some - {other} if isinstance(one, Delete)]

    first = offered()
    assert broken in first
    assert harmless not in first
    assert len(first) == len(set(first))
    known.take([judged(4, Genotype(configuration, (other, first[0])), None, parents=(3,))])
    assert offered()[-1] == first[0]


def test_the_values_of_what_has_edits_are_tried_alone(
    scale: Subject, variation: Variation, deletions: list[Delete]
) -> None:
    configuration = scale.space.default.having({"BLOCK": 32})
    known = Knowledge(variation, 1)
    known.take([judged(1, Genotype(configuration, tuple(deletions[:3])), Verdict.FASTER, 0.8)])
    first = next(near(known, Maker(known.best, Fresh(1)), 8, random.Random(1)))
    assert isinstance(first, Given)
    assert first.genotype == Genotype(configuration)


def test_harmless_changes_are_tried_together_ever_more_at_once(
    variation: Variation, deletions: list[Delete]
) -> None:
    known = Knowledge(variation, 1)
    harmless = [Genotype(variation.original.configuration, (one,)) for one in deletions]
    known.take([judged(n, one, Verdict.SAME) for n, one in enumerate(harmless, start=1)])
    recipe = Together(known, known.best, fitting, Fresh(1))
    rng, number, sizes = random.Random(1), 100, list[int]()
    for _ in range(6):
        made = [recipe.make(variation, set(), rng) for _ in range(5)]
        sizes.append(max(len(changes_of(one)) for one in made if one))
        for one in filter(None, made):
            assert len({place_of(change) for change in changes_of(one)}) == len(changes_of(one))
            known.take([judged(number, one, Verdict.SAME, origin=Origin.UNION)])
            number += 1
    assert sizes[0] <= 8
    assert sizes[-1] > 2


def test_nothing_seems_to_pay_before_something_has_gained(
    variation: Variation, deletions: list[Delete]
) -> None:
    """The places for what seems to are for what was never tried until then."""

    def filled(*members: Member) -> Counter[str]:
        history = History(variation, 1, set(), lambda number: members, 1)
        shares = replace(adaptive.SHARES, sweep=0.0, guided=1.0)
        whole = adaptive.Adaptive(adaptive.SETTINGS, shares)
        return Counter(
            one.chosen.__name__ if isinstance(one, Together) else type(one).__name__
            for one in whole.recipes(history, random.Random(1))
        )

    alone = [with_changes(variation.original, [one]) for one in deletions[:3]]
    harmless = [judged(at, one, Verdict.SAME) for at, one in enumerate(alone, start=1) if one]
    gained = replace(harmless[0], selectable=True, ratio=0.8, median=0.8)
    before, since = filled(*harmless), filled(gained, *harmless[1:])
    assert before["fitting"]
    assert since["fitting"]
    assert since["paying"]
    assert not before["paying"]
    assert before["Guided"] > since["Guided"]


def test_what_breaks_the_best_may_go_with_what_has_nothing_of_it(
    variation: Variation, deletions: list[Delete]
) -> None:
    best, other, *some = deletions[:6]
    configuration = variation.original.configuration
    known = Knowledge(variation, 1)
    alone = [
        judged(2 + n, Genotype(configuration, (one,)), Verdict.SAME) for n, one in enumerate(some)
    ]
    known.take([judged(1, Genotype(configuration, (best,)), Verdict.FASTER, 0.5), *alone])
    known.take([judged(10, Genotype(configuration, (best, *some)), None, parents=(1,))])
    broken = known.beside(known.best).breaks.mean(some[0])
    assert broken > known.beside(known.apart).breaks.mean(some[0])
    known.take([judged(11, Genotype(configuration, (other,)), Verdict.FASTER, 0.4)])
    assert (known.best.ident, known.apart.ident) == (11, 1)
    assert known.beside(known.apart).breaks.mean(some[0]) == broken, "it goes with what it is of"
