"""Code of a source that no case tests, given counts."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import ALL_TYPES, EDIT_SETS, Operation, RuleType, Source, Why, only_tested
from gi_cuda.grammar.coverage.places import Outcome, Place
from gi_cuda.grammar.coverage.untested import Untested
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText, convert

KERNEL = """\
__device__ int helper(int x) {
    for (int i = 0; i < 4; i++) x += i;
    return x;
}
__global__ void k(int *p, int n) {
    int a = n;
    if (n % 2) {
        int b = a * 5;
        for (int i = 0; i < 4; i++) p[i] = b;
        if (b > 3) p[1] = helper(b);
    } else
        p[2] = a;
    if (n > 0) p[1] = a; else { int c = a + 9; p[2] = c; }
    for (int i = a; i < n; i += 64) p[i] = i + 7;
    if (a == 1 || n % 2) p[3] = 1;
    if (n > 1) for (int j = 0; j < 2; j++) p[j]++;
    for (int i = n; i < a; i++) p[i] = 3;
    int last = a - 6;
    p[5] = last;
}
"""
ODD, POSITIVE, PART, AGAIN, LARGE, EMPTY = 7, 13, 14, 14, 16, 17


def untested_in(text: str, *unseen: tuple[int, Outcome], edits: str = "full") -> Untested:
    """Return the untested code if all outcomes but some are seen; these are given by line.

    Of conditions, the outcomes are those of the whole condition of an ``if``.
    """
    grammar = convert(Source("k.cu", text), None, EDIT_SETS[edits])
    parsed = CudaText(grammar)
    counted = parsed.count_places(grammar.mutable)
    assert counted is not None

    def line(place: Place) -> int:
        return grammar.rule(place.rule).line if place.loop is None else _line(place.loop)

    def _line(loop: int) -> int:
        return grammar.loops[loop].line

    seen = {place for place in counted.places if (line(place), place.outcome) not in unseen}
    return parsed.untested(grammar.mutable, counted.places, seen)


def told(untested: Untested, why: Why) -> set[str]:
    return {name for name, one in untested.rules.items() if one.why is why}


def texts(text: str, untested: Untested, line: int, edits: str = "full") -> set[str]:
    """The texts of the rules of a line of which anything is not tested."""
    grammar = convert(Source("k.cu", text), None, EDIT_SETS[edits])
    return {grammar.text(name) for name, one in untested.rules.items() if one.line == line}


def test_all_is_tested_where_all_is_seen() -> None:
    assert untested_in(KERNEL) == Untested()


NEVER_ODD = (
    (ODD, Outcome.TRUE),
    *((line, Outcome.REACHED) for line in (2, 9, 10)),
    *((10, outcome) for outcome in (Outcome.TRUE, Outcome.FALSE)),
)


def test_all_in_a_branch_that_is_never_taken_and_in_what_only_that_calls_is_untested() -> None:
    found = untested_in(KERNEL, *NEVER_ODD)
    grammar = convert(Source("k.cu", KERNEL), None, ALL_TYPES)
    inside = {
        rule.name
        for rule in grammar.rules
        if rule.line in (2, 8, 9, 10) and rule.type is not RuleType.PRAGMA
    }
    assert {name for name in inside if grammar.operations(name)} == told(found, Why.UNREACHED)
    assert {grammar.rule(one).line for one in told(found, Why.NEVER_TRUE)} == {ODD}
    # The declaration has no count, nor has the header of the loop.
    assert {"a * 5", "int i = 0", "i < 4", "i++"} <= {
        grammar.text(name) for name in told(found, Why.UNREACHED)
    }


@pytest.mark.parametrize("edits", sorted(EDIT_SETS))
def test_of_a_condition_that_is_never_true_nothing_is_changed(edits: str) -> None:
    found = untested_in(KERNEL, *NEVER_ODD, edits=edits)
    name = f"IF_k.cu_{ODD}"
    assert found.rules[name].operations == tuple(Operation)
    assert str(found.rules[name]) == (
        f"no case makes the condition of k.cu:{ODD} true, which it changes"
    )


def test_a_condition_that_is_never_false_may_go_and_is_not_replaced() -> None:
    """Without it the branch is not taken any more, and all cases take it."""
    found = untested_in(KERNEL, (POSITIVE, Outcome.FALSE))
    name = f"IF_k.cu_{POSITIVE}"
    assert found.rules[name].operations == (Operation.REPLACE,)
    assert found.rules[name].why is Why.NEVER_FALSE


def test_an_else_of_what_is_never_false_is_untested() -> None:
    text = KERNEL.replace("p[2] = c; }", "p[2] = c; }  // never")
    grammar = convert(Source("k.cu", text), None, ALL_TYPES)
    parsed = CudaText(grammar)
    counted = parsed.count_places(grammar.mutable)
    assert counted is not None
    (never,) = (r for r in grammar.rules if grammar.text(r.name) == "p[2] = c;")
    unseen = {Place(f"IF_k.cu_{POSITIVE}", Outcome.FALSE), Place(never.name, Outcome.REACHED)}
    found = parsed.untested(grammar.mutable, counted.places, {*counted.places} - unseen)
    unreached = {grammar.text(name) for name in told(found, Why.UNREACHED)}
    assert {"a + 9", "p[2] = c;", "else { int c = a + 9; p[2] = c; }"} <= unreached
    assert "p[1] = a;" not in unreached


def test_of_a_loop_that_never_goes_round_again_the_steps_are_untested() -> None:
    found = untested_in(KERNEL, (PART, Outcome.AGAIN))
    assert {one.why for one in found.rules.values()} == {Why.NEVER_AGAIN}
    assert texts(KERNEL, found, 14) == {"i < n", "i", "n", "i += 64", "64"}
    # The first round is there, and so is what it begins with and what it does.
    assert not {"int i = a", "a", "p[i] = i + 7;"} & texts(KERNEL, found, 14)
    # Without a condition it never ends, which every case shows.
    assert found.rules["for2_k.cu_14"].operations == (Operation.REPLACE, Operation.INSERT)


def test_a_loop_that_is_never_entered_has_an_untested_body_and_header() -> None:
    unseen = [(EMPTY, one) for one in (Outcome.TRUE, Outcome.AGAIN, Outcome.REACHED)]
    found = untested_in(KERNEL, *unseen)
    assert {"int i = n", "n", "i < a", "i++", "p[i] = 3;", "3"} <= texts(KERNEL, found, EMPTY)
    assert found.rules["for2_k.cu_17"].why is Why.NEVER_TRUE


def test_what_stands_in_one_block_after_what_is_never_reached_is_not_reached() -> None:
    text = (
        "__global__ void k(int *p, int n) {\n"
        "    p[0] = 1;\n"
        "    if (n) return;\n"
        "    int before = n * 3;\n"
        "    p[1] = 2;\n"
        "    int after = n * 4;\n"
        "    for (int i = 0; i < 4; i++) p[i] = 5;\n"
        "out:\n"
        "    int label = n * 6;\n"
        "    p[2] = label;\n"
        "}\n"
    )
    found = untested_in(text, (3, Outcome.FALSE), (5, Outcome.REACHED), (7, Outcome.REACHED))
    for line, expected in ((4, "n * 3"), (6, "n * 4"), (7, "i < 4")):
        assert expected in texts(text, found, line)
    assert texts(text, found, 2) == set()
    assert texts(text, found, 9) == set()


def test_what_seems_dead_by_its_layout_and_is_reached_is_tested() -> None:
    """A macro closes the branch that another one opens."""
    text = (
        "#define OPEN if (n) {\n"
        "__global__ void k(int *p, int n) {\n"
        "    if (n > 1) { p[0] = 1; goto in; }\n"
        "    if (n > 2) {\n"
        "        p[1] = 2;\n"
        "    in:\n"
        "        p[2] = 3;\n"
        "    }\n"
        "}\n"
    )
    found = untested_in(text, (4, Outcome.TRUE), (5, Outcome.REACHED))
    assert texts(text, found, 7) == set()
    assert "p[1] = 2;" in texts(text, found, 5)


def test_unrolling_a_loop_needs_no_case() -> None:
    found = untested_in(KERNEL, *NEVER_ODD)
    assert not any(
        name.startswith(("pragma", "optrestrict", "launchbounds")) for name in found.rules
    )


def test_rules_without_what_is_untested_are_the_rules_where_there_is_none() -> None:
    grammar = convert(Source("k.cu", KERNEL), None)
    assert only_tested(grammar, Untested()) is grammar
    assert only_tested(grammar, Untested(reason="why")) is grammar
