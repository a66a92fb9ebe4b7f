"""Mutation and crossover: properties of every child, and the paper's proportions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.genome import (
    Delete,
    Genotype,
    Insert,
    Replace,
    Space,
    canonical,
    crossover,
    mutate,
    read_genotype,
    rule_order,
    variation,
)
from gi_cuda.genome.variation import cross_edits, cross_values, draw_edit, mutate_configuration
from gi_cuda.grammar import Source, convert
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.spec import Constraint, Parameter, ParameterKind
from gi_cuda.spec.expression import parse

DRAWS = 20_000

seeds = st.integers(0, 2**32)


def shares(outcomes: Iterable[Hashable]) -> dict[Hashable, float]:
    """Return the share of each outcome."""
    counts = Counter(outcomes)
    return {what: count / counts.total() for what, count in counts.items()}


def drawn(draw: Callable[[], Hashable]) -> Iterator[Hashable]:
    """Yield DRAWS draws."""
    return (draw() for _ in range(DRAWS))


def about(share: float) -> object:
    """Within five standard deviations of a share of DRAWS draws."""
    return pytest.approx(share, abs=5 * (share * (1 - share) / DRAWS) ** 0.5)


def numbers(*values: int, default: int = 0) -> Parameter:
    return Parameter("N", ParameterKind.MACRO, values, default)


# What holds for every child


@given(data=st.data(), seed=seeds)
def test_a_mutant_differs_by_one_value_or_one_edit(data, seed, genotypes, grammar) -> None:
    parent = data.draw(genotypes)
    child = mutate(parent, grammar, Random(seed), PAPER)
    assert child is not None
    if child.edits == parent.edits:
        ours, theirs = child.configuration.chosen, parent.configuration.chosen
        assert sum(a != b for a, b in zip(ours, theirs, strict=True)) == 1
    else:
        assert child.configuration == parent.configuration
        assert child.edits[:-1] == parent.edits


@settings(max_examples=50)
@given(data=st.data(), seed=seeds)
def test_a_mutant_is_another_genotype(data, seed, genotypes, grammar) -> None:
    order = rule_order(grammar.rules)
    parent = data.draw(genotypes)
    child = mutate(parent, grammar, Random(seed), PAPER)
    assert canonical(child, order) != canonical(parent, order)


@settings(max_examples=40)
@given(data=st.data(), seed=seeds)
def test_children_keep_constraints_and_can_be_read(data, seed, genotypes, space, grammar) -> None:
    rng = Random(seed)
    child = data.draw(genotypes)
    for _ in range(5):
        child = mutate(child, grammar, rng, PAPER) or child
        child = crossover(child, data.draw(genotypes), rng) or child
        assert space.allows(child.configuration)
        assert read_genotype(str(child), space, grammar) == child


@given(data=st.data(), seed=seeds)
def test_a_new_edit_is_one_that_the_configuration_offers(data, seed, genotypes, grammar) -> None:
    parent = data.draw(genotypes)
    edit = draw_edit(parent, grammar, Random(seed))
    view = grammar.under(parent.configuration.macros)
    assert edit.place in view.mutable
    assert edit.is_offered(grammar, view)
    assert any(step.changes_text(grammar) for step in edit.steps)


@given(data=st.data(), seed=seeds)
def test_a_crossover_child_holds_genes_of_its_parents(data, seed, genotypes) -> None:
    mother, father = data.draw(genotypes), data.draw(genotypes)
    child = crossover(mother, father, Random(seed))
    if child is None:
        return
    assert child not in (mother, father)
    for value, *parents in zip(
        *(genotype.configuration.chosen for genotype in (child, mother, father)), strict=True
    ):
        assert value in parents
    assert set(child.edits) <= {*mother.edits, *father.edits}


@given(st.integers(0, 9), st.integers(0, 9), seeds)
def test_two_points(ours, theirs, seed) -> None:
    mother, father = list(range(ours)), list(range(100, 100 + theirs))
    child = cross_edits(mother, father, Random(seed))
    given_ = [gene for gene in child if gene >= 100]
    kept = [gene for gene in child if gene < 100]
    taken = [gene for gene in mother if gene not in kept]
    assert kept == sorted(kept)
    for stretch, parent in ((given_, father), (taken, mother)):
        start = parent.index(stretch[0]) if stretch else 0
        assert stretch == parent[start : start + len(stretch)]
    if given_:
        at = child.index(given_[0])
        assert list(child[at : at + len(given_)]) == given_
        assert not taken or at == taken[0]


def test_one_seed_makes_the_same_children(space, grammar) -> None:
    def family(seed: int) -> list[str]:
        rng = Random(seed)
        members = [Genotype(space.default)]
        for _ in range(100):
            members.append(mutate(rng.choice(members), grammar, rng, PAPER))
            child = crossover(rng.choice(members), rng.choice(members), rng)
            members += [child] if child else []
        return [str(member) for member in members]

    assert family(1) == family(1)
    assert family(1) != family(2)


def test_every_allowed_configuration_and_edit_is_reached(space, grammar, all_edits) -> None:
    rng = Random(0)
    child, edits = Genotype(space.default), set()
    values = set()
    for _ in range(10_000):
        child = Genotype(mutate_configuration(child.configuration, rng, PAPER))
        edits.add(draw_edit(child, grammar, rng))
        values |= set(child.configuration.items())
    assert values == {(p.name, value) for p in space.parameters for value in p.values}
    # Some edits are open to no configuration, as their donor and their place exclude each other.
    views = [grammar.under({"SECOND": "1"} if second else {}) for second in (0, 1)]
    assert edits == {
        edit
        for edit in all_edits
        for view in views
        if edit.place in view.mutable
        and edit.is_offered(grammar, view)
        and any(step.changes_text(grammar) for step in edit.steps)
    }


# Where there is little or nothing to change


def test_without_parameters_code_changes(grammar) -> None:
    rng, parent = Random(0), Genotype(Space((numbers(0),)).default)
    assert all(mutate(parent, grammar, rng, PAPER).edits for _ in range(200))


def test_without_rules_the_configuration_changes(space, grammar) -> None:
    rng, parent = Random(0), Genotype(space.default)
    fixed = replace(grammar, rules=())
    assert not any(mutate(parent, fixed, rng, PAPER).edits for _ in range(200))


def test_with_neither_there_is_no_mutant(grammar) -> None:
    parent = Genotype(Space().default)
    assert mutate(parent, replace(grammar, rules=()), Random(0), PAPER) is None


def test_where_constraints_allow_no_single_change_code_changes(grammar) -> None:
    flag = ParameterKind.FLAG
    pair = (Parameter("A", flag, (0, 1), 0), Parameter("B", flag, (0, 1), 0))
    space = Space(pair, (Constraint(parse("A == B")),))
    rng = Random(0)
    assert mutate_configuration(space.default, rng, PAPER) is None
    assert mutate(Genotype(space.default), grammar, rng, PAPER).edits


def test_parents_without_difference_have_no_crossover_child(space) -> None:
    parent = Genotype(space.default)
    assert crossover(parent, parent, Random(0)) is None


def test_an_exhausted_rule_is_not_edited_again() -> None:
    grammar = convert(Source("k.cu", "__device__ int g;\n__global__ void k() {\n    g = 1;\n}\n"))
    only = replace(grammar, rules=(grammar.rule("_k.cu_3"),))
    parent = Genotype(Space().default, (Delete("_k.cu_3"),))
    assert draw_edit(Genotype(Space().default), only, Random(0)) == Delete("_k.cu_3")
    assert draw_edit(parent, only, Random(0)) is None


# The paper's proportions


def test_half_change_the_configuration_and_half_the_code(space, grammar) -> None:
    rng, parent = Random(1), Genotype(space.default)
    found = shares(drawn(lambda: bool(mutate(parent, grammar, rng, PAPER).edits)))
    assert found == {True: about(1 / 2), False: about(1 / 2)}


def test_parameters_are_chosen_alike(grammar) -> None:
    values = tuple(range(4))
    space = Space(tuple(Parameter(name, ParameterKind.MACRO, values, 0) for name in "ABCDE"))
    rng = Random(2)
    mutant = partial(mutate_configuration, space.default, rng, PAPER)
    found = shares(drawn(lambda: next(iter(mutant().changed))))
    assert found == {name: about(1 / 5) for name in "ABCDE"}


def test_one_in_five_goes_back_to_the_default() -> None:
    words = ("a", "b", "c", "d", "e")
    space = Space((Parameter("W", ParameterKind.MACRO, words, "a"),))
    start, rng = space.default.having({"W": "c"}), Random(3)
    found = shares(drawn(lambda: mutate_configuration(start, rng, PAPER)["W"]))
    each = 0.8 / 4
    assert found == {
        "a": about(0.2 + each),
        "b": about(each),
        "d": about(each),
        "e": about(each),
    }


def test_a_number_takes_a_neighbour_half_the_time() -> None:
    space = Space((numbers(40, 0, 10, 20, 30, 50),))
    start, rng = space.default.having({"N": 30}), Random(4)
    found = shares(drawn(lambda: mutate_configuration(start, rng, PAPER)["N"]))
    random, neighbour = 0.8 / 2 / 5, 0.8 / 2 / 2
    assert found == {
        0: about(0.2 + random),
        10: about(random),
        20: about(random + neighbour),
        40: about(random + neighbour),
        50: about(random),
    }


def test_the_last_number_has_one_neighbour() -> None:
    space, rng = Space((numbers(0, 10, 20, 30),)), Random(5)
    found = shares(drawn(lambda: mutate_configuration(space.default, rng, PAPER)["N"]))
    each = 1 / 2 / 3
    assert found == {10: about(1 / 2 + each), 20: about(each), 30: about(each)}


@pytest.mark.parametrize("value", [0, 1])
def test_a_binary_parameter_is_flipped(value) -> None:
    space = Space((Parameter("F", ParameterKind.FLAG, (0, 1), 0),))
    start, rng = space.default.having({"F": value}), Random(6)
    assert {mutate_configuration(start, rng, PAPER)["F"] for _ in range(100)} == {1 - value}


STATEMENTS = """\
__device__ int g, h;
__global__ void k() {
    g = 1;
    h = 2;
    g = 1;
    h += g;
}
"""


def statements():
    """Four statements, two of them alike, with nothing else to edit."""
    grammar = convert(Source("k.cu", STATEMENTS))
    return replace(grammar, rules=tuple(r for r in grammar.rules if r.name.startswith("_")))


def test_kinds_places_and_donors_come_alike(monkeypatch) -> None:
    monkeypatch.setattr(variation, "EDIT_KINDS", (Delete, Replace, Insert))
    grammar, rng, parent = statements(), Random(7), Genotype(Space().default)
    names = [rule.name for rule in grammar.rules]
    edits = [draw_edit(parent, grammar, rng) for _ in range(DRAWS)]
    found = shares(type(edit) for edit in edits)
    assert found == {kind: about(1 / 3) for kind in (Delete, Replace, Insert)}
    found = shares(edit.place for edit in edits)
    assert found == {name: about(1 / 4) for name in names}
    found = shares(edits)
    assert {edit: share for edit, share in found.items() if edit.place == names[0]} == {
        Delete(names[0]): about(1 / 12),
        **{Insert(names[0], donor): about(1 / 36) for donor in names[1:]},
        # names[2] spells the same, so it is no replacement
        Replace(names[0], names[1]): about(1 / 24),
        Replace(names[0], names[3]): about(1 / 24),
    }


def test_hidden_rules_are_touched_as_often_as_asked(space, grammar) -> None:
    parent, rng = Genotype(space.default), Random(8)
    active = set(grammar.under(parent.configuration.macros).mutable)
    hidden = sum(rule.name not in active for rule in grammar.rules) / len(grammar.rules)
    assert hidden > 0.05
    hidden = 0.25
    found = shares(drawn(lambda: draw_edit(parent, grammar, rng, hidden).place not in active))
    assert found[True] == pytest.approx(0.25 * hidden, rel=0.2)
    assert all(draw_edit(parent, grammar, rng).place in active for _ in range(1000))


def test_values_cross_uniformly() -> None:
    space = Space(tuple(Parameter(n, ParameterKind.FLAG, (0, 1), 0) for n in "ABC"))
    mother, father, rng = space.default, space.default.having(dict.fromkeys("ABC", 1)), Random(9)
    found = shares(drawn(lambda: cross_values(mother, father, rng).chosen))
    assert len(found) == 8
    assert found == dict.fromkeys(found, about(1 / 8))


def test_crossover_points_fall_everywhere_alike() -> None:
    rng = Random(10)
    found = shares(drawn(lambda: len(cross_edits((1, 2, 3), (), rng))))
    # Of the 4 x 4 pairs of points 4 take nothing out, 6 take one gene, 4 take two, 2 take three.
    assert found == {3: about(4 / 16), 2: about(6 / 16), 1: about(4 / 16), 0: about(2 / 16)}


def test_crossover_adds_as_much_as_the_other_parent_has_to_give() -> None:
    rng = Random(11)
    mother, father = tuple(range(10)), tuple(range(20, 26))
    lengths = [len(cross_edits(mother, father, rng)) for _ in range(DRAWS)]
    # A stretch of a list of n genes holds n(n+2)/3(n+1) of them on average.
    taken, given_ = 10 * 12 / 33, 6 * 8 / 21
    assert sum(lengths) / DRAWS == pytest.approx(10 - taken + given_, rel=0.01)
