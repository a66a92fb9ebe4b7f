"""Searches never change code that no case tests, with any preset and set of edits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.evaluate.untested import untested_changes
from gi_cuda.genome import Genotype
from gi_cuda.grammar import EDIT_SETS, Operation, Untested, UntestedRule, Why
from gi_cuda.search import PRESETS
from gi_cuda.search.loop import Evolution
from gi_cuda.store import Store
from gi_cuda.subject import Subject, load_subject

EVEN = Path(__file__).parents[2] / "targets" / "even"
EVERYTHING = tuple(Operation)
SUBJECTS = {edits: load_subject(EVEN, "host", edits=edits) for edits in EDIT_SETS}
CODE = [name for name, preset in PRESETS.items() if preset.variation.code]


def having(subject: Subject, operations: dict[str, tuple[Operation, ...]]) -> Subject:
    """A subject some of whose rules no case tests."""
    rules = {
        rule.name: UntestedRule(Why.UNREACHED, operations[rule.name], rule.file, rule.line)
        for rule in subject.grammar.rules
        if operations.get(rule.name)
    }
    return replace(subject, untested=Untested(rules))


def odd(subject: Subject) -> Subject:
    """A subject of which nothing is tested from the condition on that is never true."""
    lines = range(23, 27)
    return having(
        subject, {one.name: EVERYTHING for one in subject.grammar.rules if one.line in lines}
    )


def mutants(subject: Subject, preset: str, seed: int, count: int) -> Iterator[Genotype]:
    """A walk of mutations."""
    variation, rng = PRESETS[preset].vary(subject), random.Random(seed)
    genotype = subject.original
    for number in range(count):
        genotype = variation.mutate(subject.original if number % 6 == 0 else genotype, rng) or (
            subject.original
        )
        yield genotype


@given(data=st.data(), edits=st.sampled_from(sorted(EDIT_SETS)), preset=st.sampled_from(CODE))
def test_what_is_drawn_is_never_among_what_is_untested(
    data: st.DataObject, edits: str, preset: str
) -> None:
    subject = SUBJECTS[edits]
    names = [rule.name for rule in subject.grammar.rules]
    some = st.lists(st.sampled_from(EVERYTHING), max_size=3, unique=True).map(tuple)
    operations = data.draw(st.dictionaries(st.sampled_from(names), some, max_size=40))
    restricted = having(subject, operations)
    for one in mutants(restricted, preset, data.draw(st.integers(0, 99)), 30):
        assert untested_changes(restricted.untested, one.edits) == {}
        # What is left is still what the rules offer.
        assert subject.read(str(one)) == one


def test_where_everything_is_untested_nothing_is_drawn() -> None:
    subject = SUBJECTS["all"]
    nothing = having(subject, {rule.name: EVERYTHING for rule in subject.grammar.rules})
    variation = PRESETS["gevo"].vary(nothing)
    assert variation.mutate(subject.original, random.Random(1)) is None


def searched(
    preset: str, subject: Subject, evolution: Callable[..., Evolution], evaluator: Any
) -> list[str]:
    """The genotypes of a whole search."""
    with Store(Path(":memory:"), create=True) as store:
        search = evolution(store, evaluator(subject), preset, population=60, generations=4)
        list(search.run())
        return [one.genotype for one in store.individuals()]


@pytest.mark.parametrize("preset", CODE)
def test_no_individual_of_a_search_has_what_is_untested(
    preset: str, evolution: Callable[..., Evolution], simulated: Callable[..., Any]
) -> None:
    free = SUBJECTS["all"]
    subject = odd(free)
    found = searched(preset, subject, evolution, simulated)
    assert len(found) > 100
    effective = [subject.read(text).edits for text in found]
    assert not any(untested_changes(subject.untested, edits) for edits in effective)
    # The same seed, the same search; and one that may have them does have them.
    assert found == searched(preset, odd(free), evolution, simulated)
    others = [free.read(text).edits for text in searched(preset, free, evolution, simulated)]
    assert any(untested_changes(subject.untested, edits) for edits in others)


def test_a_search_in_which_all_is_tested_is_the_one_that_it_was(
    evolution: Callable[..., Evolution], simulated: Callable[..., Any]
) -> None:
    free = SUBJECTS["full"]
    unknown = replace(free, untested=Untested(reason="nobody looked"))
    both = [searched("adaptive", one, evolution, simulated) for one in (free, unknown)]
    assert both[0] == both[1]
