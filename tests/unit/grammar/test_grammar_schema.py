"""Schemata: one text for many variants, with a choice wherever they differ."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from gi_cuda.genome.edits import EDIT_KINDS, expansions
from gi_cuda.grammar import (
    ALL_TYPES,
    EDIT_SETS,
    Expansion,
    Grammar,
    RuleType,
    Source,
    convert,
    read_source,
)
from gi_cuda.grammar.frontends.cuda.rendering.schema import schema, telling, unchosen
from gi_cuda.grammar.frontends.cuda.text.reading import is_balanced

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))
DELETED = Expansion(body="")
HEAD = "__global__ void k(int *p, int n) {\n"


def operands(body: str) -> Mapping[str, str]:
    """The rules for operands in a body, by their texts."""
    grammar = convert(Source("k.cu", f"{HEAD}{body}\n}}\n"), types=ALL_TYPES)
    return {
        grammar.text(rule.name): rule.name for rule in grammar.rules if rule.type is RuleType.OP
    }


def of(body: str, *variants: Mapping[str, Expansion]) -> str:
    """The body of a schema; its lines count from 2."""
    grammar = convert(Source("k.cu", f"{HEAD}{body}\n}}\n"), types=ALL_TYPES)
    return schema(grammar, variants).removeprefix(HEAD).removesuffix("\n}\n")


def test_without_variants_it_is_the_source() -> None:
    assert of("  p[0] = n;") == "  p[0] = n;"


def test_a_statement_stands_beside_what_variants_have_in_its_place() -> None:
    body = "  p[0] = n;\n  p[1] = 2;"
    variants = [
        {"_k.cu_2": DELETED},
        {"_k.cu_2": Expansion(body="_k.cu_3")},
        {"_k.cu_2": DELETED, "_k.cu_3": Expansion(("_k.cu_2",))},
    ]
    assert of(body, *variants) == (
        "  { if (gi_chosen == 1u || gi_chosen == 3u) {  } else"
        " if (gi_chosen == 2u) { p[1] = 2; } else { p[0] = n; } }\n"
        "  { if (gi_chosen == 3u) { p[0] = n;\n  p[1] = 2; } else { p[1] = 2; } }"
    )


def test_an_operand_is_chosen_with_the_statement_that_it_is_a_part_of() -> None:
    """So that the types of all that is computed are the variant's own."""
    found = of("  p[1] = n / p[0];", {"op_k.cu_2.3": Expansion(body="op_k.cu_2.4")})
    assert found == "  { if (gi_chosen == 1u) { p[1] = p / p[0]; } else { p[1] = n / p[0]; } }"


def test_what_says_where_a_thread_is_may_stand_for_how_many_there_are() -> None:
    """CUDA has no common type of uint3 and dim3 that both convert to."""
    body = "  Score *at = scores + n * threadIdx.x, *end = scores + n * blockDim.x;"
    names = operands(body)
    found = of(body, {names["threadIdx"]: Expansion(body=names["blockDim"])})
    assert "scores + n * ((gi_chosen == 1u) ? dim3(blockDim) : dim3(threadIdx)).x, " in found


@pytest.mark.parametrize(
    ("body", "place", "expected"),
    [
        (
            "  if (n > 3) p[0] = 1;",
            "IF_k.cu_2",
            "  if (((gi_chosen == 1u) ? (bool)(0) : (bool)(n > 3))) p[0] = 1;",
        ),
        (
            "  int i; for (i = 0; i < n; i++) p[i] = 1;",
            "for2_k.cu_2",
            "  int i; for (i = 0; ((gi_chosen == 1u) ? (bool)(1) : (bool)(i < n)); i++) p[i] = 1;",
        ),
        (
            "  int i; for (i = 0; i < n; i++) p[i] = 1;",
            "for3_k.cu_2",
            "  int i; for (i = 0; i < n; ((gi_chosen == 1u) ? (void)(0) : (void)(i++))) p[i] = 1;",
        ),
        (
            "  if (n) p[0] = 1; else p[1] = n;",
            "ELSE_k.cu_2",
            "  if (n) p[0] = 1; else { if (gi_chosen == 1u) {  } else {  p[1] = n; } }",
        ),
    ],
)
def test_what_a_deletion_is(body: str, place: str, expected: str) -> None:
    assert of(body, {place: DELETED}) == expected


def test_what_all_variants_have_is_not_chosen() -> None:
    body = "  p[0] = n;\n  if (n > 3) p[1] = 2;\n  p[2] = 3;"
    common = {"_k.cu_2": DELETED, "IF_k.cu_3": DELETED}
    found = of(body, common, {**common, "_k.cu_4": DELETED})
    assert found == (
        "  {  }\n  if (((bool)(0))) p[1] = 2;\n  { if (gi_chosen == 2u) {  } else { p[2] = 3; } }"
    )


def test_what_may_hold_places_of_others_is_always_chosen() -> None:
    body = "  if (n) p[0] = 1; else p[1] = n;"
    both = [{"ELSE_k.cu_2": DELETED}] * 2
    assert "gi_chosen == 1u || gi_chosen == 2u" in of(body, *both)


def test_what_changes_no_answer_is_left_out() -> None:
    body = "  for (int i = 0; i < n; i++) p[i] = 1;"
    unrolled = {"pragma_k.cu_2": Expansion(body="pragma_K4")}
    assert of(body, unrolled) == body
    head = "__global__ void k(int *p, int n) {\n"
    grammar = convert(Source("k.cu", f"{head}{body}\n}}\n"), types=ALL_TYPES)
    assert telling(grammar, {**unrolled, "_k.cu_2": DELETED}) == {"_k.cu_2": DELETED}


def test_a_header_that_declares_cannot_be_chosen() -> None:
    text = "__global__ void k(int *p, int n) {\n  for (int i = 0; i < n; i++) p[i] = 1;\n}\n"
    grammar = convert(Source("k.cu", text), types=ALL_TYPES)
    both = {"for1_k.cu_2": DELETED, "for2_k.cu_2": DELETED}
    assert unchosen(grammar, both) == {"for1_k.cu_2": DELETED}
    assert unchosen(grammar, {"for2_k.cu_2": DELETED}) == {}


def test_a_header_that_declares_is_that_of_all_variants() -> None:
    """Edits of other variants within the header have no effect."""
    body = "  for (int i = n; i < 9; i++) p[i] = 1;\n  for (int i = 4; i < n; i++) p[i] = 2;"
    header = {"for1_k.cu_2": Expansion(body="for1_k.cu_3")}
    within = {"rhs_k.cu_2": Expansion(body="rhs_k.cu_3")}
    found = of(body, header, header | within, header | {"_k.cu_3": DELETED})
    assert found == (
        "  for (int i = 4; i < 9; i++) p[i] = 1;\n"
        "  for (int i = 4; i < n; i++) { if (gi_chosen == 3u) {  } else { p[i] = 2; } }"
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_brackets_match_whatever_the_source(path: Path) -> None:
    grammar = convert(read_source(path), types=EDIT_SETS["all"])
    variants = [one for one in drawn(grammar, 12) if unchosen(grammar, one) == {}]
    text = schema(grammar, variants)
    assert is_balanced(text) == is_balanced(grammar.source.text)
    assert text.count("\n") >= grammar.source.text.count("\n")


def drawn(grammar: Grammar, number: int) -> list[Mapping[str, Expansion]]:
    """Random variants, two edits each where the grammar has so many."""
    rng = random.Random(3)
    found = []
    for _ in range(number):
        edits = []
        for place in rng.choices(grammar.mutable, k=2) if grammar.mutable else []:
            operations = grammar.operations(place)
            kinds = [kind for kind in EDIT_KINDS if kind.operation in operations]
            if kinds and (edit := rng.choice(kinds).draw(place, grammar, grammar, rng)):
                edits.append(edit)
        found.append(expansions(tuple(edits)))
    return found
