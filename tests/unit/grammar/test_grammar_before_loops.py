"""Places before loops: positions, possible donors, rendering."""

from __future__ import annotations

import random

import pytest

from gi_cuda.genome import Genotype, Insert, Space, expansions, read_genotype
from gi_cuda.genome.variation import draw_pair
from gi_cuda.grammar import (
    EDIT_SETS,
    Grammar,
    Operation,
    RuleType,
    Source,
    convert,
    read_grammar,
    render,
    write_bnf,
    write_scope,
)
from gi_cuda.grammar.frontends.cuda.rendering.schema import schema

KERNEL = """\
__global__ void k(int *p, int n) {
    int a = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        a = n * 2;
        p[i] = a;
        while (a < 4)
            a++;
    }
    do { p[n]++; } while (p[n] < 3);
    if (n) for (int j = 0; j < n; j++) p[j] = 1;
}
"""
HOIST = "<loop_k.cu_3>+<_k.cu_5> <_k.cu_5>"


def before_loops(text: str = KERNEL, edits: str = "loops") -> Grammar:
    return convert(Source("k.cu", text), types=EDIT_SETS[edits])


def rendered(edits: str, limits: dict[int, int] | None = None) -> str:
    grammar = before_loops()
    return render(grammar, expansions(read_genotype(edits, Space(), grammar).edits), limits)


def test_statements_go_before_loops_that_stand_in_a_block() -> None:
    grammar = before_loops()
    offers = {
        rule.name: [grammar.text(donor) for donor in grammar.donors(rule.name)]
        for rule in grammar.rules
        if rule.type is RuleType.LOOP
    }
    anywhere = ["a = n * 2;", "a++;", "p[n]++;"]
    assert offers == {
        "loop_k.cu_3": anywhere,
        "loop_k.cu_7": ["a = n * 2;", "p[i] = a;", "a++;", "p[n]++;"],
        "loop_k.cu_10": anywhere,
    }
    assert {grammar.operations(place) for place in offers} == {(Operation.INSERT,)}
    assert not grammar.holders["loop_k.cu_3"]


def test_they_are_rules_only_when_asked_for() -> None:
    full, more = before_loops(edits="full"), before_loops()
    of_loops = EDIT_SETS["loops"] - EDIT_SETS["full"]
    assert [rule for rule in more.rules if rule.type not in of_loops] == list(full.rules)
    for rule in full.rules:
        assert more.donors(rule.name) == full.donors(rule.name)


@pytest.mark.parametrize("edits", ["loops", "all"])
def test_the_files_of_a_grammar_give_it_back(edits: str) -> None:
    grammar = before_loops(edits=edits)
    assert read_grammar(grammar.source, write_bnf(grammar), write_scope(grammar)) == grammar
    assert "<_k.cu_5>: 5-11 loop:3-10\n" in write_scope(grammar)


def test_a_hoist_takes_a_statement_before_its_loop() -> None:
    statement = "        a = n * 2;\n"
    expected = KERNEL.replace(statement, "").replace("#pragma", "a = n * 2;\n#pragma")
    assert rendered(HOIST) == expected


def test_it_stays_there_whatever_becomes_of_the_pragma() -> None:
    assert "int a = 0;\na = n * 2;\n    for" in rendered(f"{HOIST} <pragma_k.cu_3>")
    changed = rendered(f"{HOIST} <pragma_k.cu_3><pragma_K2>")
    assert "int a = 0;\na = n * 2;\n#pragma unroll 2\n    for" in changed


def test_a_guard_may_be_around_it() -> None:
    text = rendered("<loop_k.cu_7>+<_k.cu_8>", {1: 8})
    assert "{ unsigned gi_guard_1 = gi_begin(); a++;\n        while (" in text


def test_in_a_schema_it_is_chosen_before_the_pragma() -> None:
    grammar = before_loops()
    variant = expansions(read_genotype(HOIST, Space(), grammar).edits)
    text = schema(grammar, [variant, {}])
    assert "    int a = 0;\nif (gi_chosen == 1u) { a = n * 2;\n }\n#pragma unroll 4\n" in text


def test_pairs_of_edits_hoist() -> None:
    """A third of moves and swaps takes a statement out of a loop."""
    grammar, rng = before_loops(), random.Random(2)
    pairs = [draw_pair(Genotype(Space().default), grammar, rng) for _ in range(300)]
    hoists = set()
    for pair in pairs:
        assert pair is not None
        first, second = pair
        if first.place.startswith("loop_"):
            assert isinstance(first, Insert)
            assert second.place == first.donor
            hoists.add(f"{first} {second}")
    assert HOIST in hoists
    assert "<loop_k.cu_7>+<_k.cu_8> <_k.cu_8>" in hoists
    assert sum(pair is not None and pair[0].place.startswith("loop_") for pair in pairs) > 90


def test_there_is_none_where_a_block_cannot_take_it() -> None:
    text = """\
__global__ void k(int *p, int n) {
    switch (n) {
    case 1:
        for (int i = 0; i < n; i++) p[i] = 1;
    }
again:
    for (int i = 0; i < n; i++) p[i] = 2;
    if (n) goto again;
}
"""
    assert RuleType.LOOP not in {rule.type for rule in before_loops(text).rules}
