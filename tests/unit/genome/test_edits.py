"""Effects of edits on a source, by examples."""

from __future__ import annotations

import random

import pytest

from gi_cuda.genome import (
    EDIT_KINDS,
    Delete,
    Edit,
    Insert,
    Replace,
    Space,
    expansions,
    read_genotype,
)
from gi_cuda.genome.edits import repeats
from gi_cuda.grammar import Expansion, Grammar, Source, convert, render
from tests.swap import Swap

EXAMPLES = [
    (
        Delete,
        "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
        "<_k.cu_2>",
        "__global__ void k(int *x) {\n    x[1] = 2;\n}\n",
    ),
    (
        Delete,
        "__global__ void k(int *x) {\n    if (x[0] > 1)\n        x[1] = 2;\n}\n",
        "<_k.cu_3>",
        "__global__ void k(int *x) {\n    if (x[0] > 1)\n        ;\n}\n",
    ),
    (
        Delete,
        "__global__ void k(int *x) {\n    if (x[0] > 1) { x[1] = 2; }\n}\n",
        "<IF_k.cu_2>",
        "__global__ void k(int *x) {\n    if (0) { x[1] = 2; }\n}\n",
    ),
    (
        Replace,
        "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
        "<_k.cu_2><_k.cu_3>",
        "__global__ void k(int *x) {\n    x[1] = 2;\n    x[1] = 2;\n}\n",
    ),
    (
        Replace,
        "__global__ void k(int *x) {\n    for (int i = 0; i < 9; i++)\n        x[i] = 1;\n}\n",
        "<pragma_k.cu_2><pragma_K4>",
        "__global__ void k(int *x) {\n    #pragma unroll 4\n"
        "    for (int i = 0; i < 9; i++)\n        x[i] = 1;\n}\n",
    ),
    (
        Insert,
        "__global__ void k(int *x) {\n    x[0] = 1;\n    x[1] = 2;\n}\n",
        "<_k.cu_2>+<_k.cu_3>",
        "__global__ void k(int *x) {\n    x[1] = 2;\n    x[0] = 1;\n    x[1] = 2;\n}\n",
    ),
    (
        Insert,
        "__global__ void k(int *x) {\n    if (x[0] > 1) { x[1] = 2; }\n"
        "    if (x[2] > 3) { x[3] = 4; }\n}\n",
        "<IF_k.cu_2>+<IF_k.cu_3>",
        "__global__ void k(int *x) {\n    if ((x[2] > 3) && (x[0] > 1)) { x[1] = 2; }\n"
        "    if (x[2] > 3) { x[3] = 4; }\n}\n",
    ),
]
"""Effect of each kind: the source ``k.cu``, edits in notation, the variant's source."""


@pytest.mark.parametrize(("kind", "before", "edits", "after"), EXAMPLES)
def test_example(kind: type[Edit], before: str, edits: str, after: str) -> None:
    grammar = convert(Source("k.cu", before))
    genotype = read_genotype(edits, Space(), grammar)
    assert any(type(edit) is kind for edit in genotype.edits)
    assert render(grammar, expansions(genotype.edits), None) == after


def test_every_kind_has_examples() -> None:
    assert {kind for kind, *_ in EXAMPLES} == set(EDIT_KINDS)


@pytest.mark.parametrize("kind", EDIT_KINDS)
def test_every_kind_begins_with_its_place(kind: type[Edit], all_edits: tuple[Edit, ...]) -> None:
    mine = [edit for edit in all_edits if type(edit) is kind]
    assert mine
    for edit in mine:
        first = edit.steps[0]
        assert (first.place, first.operation) == (edit.place, kind.operation)


def test_notation_tells_kinds_apart() -> None:
    assert len({kind.operator for kind in EDIT_KINDS}) == len(EDIT_KINDS)
    assert Insert.usage() == "<a>+<b> to insert b before it"


def test_inserts_accumulate_and_the_last_body_wins() -> None:
    edits = [
        Insert("a", "x"),
        Replace("a", "y"),
        Delete("b"),
        Insert("a", "z"),
        Replace("b", "y"),
        Delete("a"),
    ]
    assert expansions(edits) == {
        "a": Expansion(("x", "z"), ""),
        "b": Expansion((), "y"),
    }


def test_repeats() -> None:
    edits = [Delete("a"), Replace("b", "x"), Insert("a", "x")]
    assert repeats(edits, Delete("a"))
    assert repeats(edits, Replace("b", "x"))
    assert not repeats(edits, Delete("b"))
    assert not repeats(edits, Replace("b", "y"))
    assert not repeats(edits, Insert("a", "x"))
    assert not repeats([*edits, Replace("a", "x")], Delete("a"))


def test_an_edit_of_two_rules_changes_both() -> None:
    edits = [Insert("a", "x"), Swap("a", "b"), Insert("b", "x")]
    assert expansions(edits) == {"a": Expansion(("x",), "b"), "b": Expansion(("x",), "a")}
    assert repeats(edits, Swap("b", "a"))
    assert repeats(edits, Replace("a", "b"))
    assert not repeats([*edits, Delete("a")], Swap("a", "b"))


def test_an_edit_of_two_rules_is_drawn_where_both_offer_it(grammar: Grammar) -> None:
    view, rng = grammar.under({}), random.Random(1)
    places = [name for name in view.mutable if Swap.operation in view.operations(name)]
    drawn = [Swap.draw(rng.choice(places), grammar, view, rng) for _ in range(2000)]
    assert None in drawn
    found = {edit for edit in drawn if edit}
    assert Swap("_k.cu_4", "_k.cu_3") in found
    assert Swap("_k.cu_4", "_k.cu_5") not in found  # they spell the same
    for edit in found:
        assert edit.place in view.donors(edit.donor)
        assert edit.donor in view.donors(edit.place)
