"""Counters put into a source to measure coverage."""

from __future__ import annotations

from gi_cuda.grammar import Grammar, Source, convert
from gi_cuda.grammar.coverage.places import CountedText, Outcome, Place
from gi_cuda.grammar.frontends.cuda.coverage.marks import counted

KERNEL = """\
#define ROWS 1
__global__ void k(int *p, int n) {
    int a = 0;
#pragma unroll 4
    for (int i = a; i < n; i++)
        p[i] = a;
    for (int row = 0; row < ROWS; row++)
        a++;
    while (true) if (a++ > n) break;
    do { p[n]++; } while (p[n] < a);
    do { p[n]--; } while (0);
}
"""


def places(text: str) -> tuple[CountedText, Grammar]:
    grammar = convert(Source("k.cu", text))
    return counted(grammar, [rule.name for rule in grammar.rules]), grammar


def test_each_statement_and_each_outcome_of_a_condition_has_a_place() -> None:
    found, grammar = places(KERNEL)
    rules = [place for place in found.places if place.loop is None]
    lines = [(grammar.rule(place.rule).line, place.outcome) for place in rules]
    assert lines == [
        (6, Outcome.REACHED),
        (8, Outcome.REACHED),
        (9, Outcome.TRUE),
        (9, Outcome.FALSE),
        (10, Outcome.REACHED),
        (11, Outcome.REACHED),
    ]


def test_a_loop_that_a_case_may_take_round_again_has_two() -> None:
    found, grammar = places(KERNEL)
    (first, _, _, last, _) = grammar.loops
    assert [place for place in found.places if place.loop is not None] == [
        Place("", Outcome.TRUE, first.ident),
        Place("", Outcome.AGAIN, first.ident),
        Place("", Outcome.TRUE, last.ident),
        Place("", Outcome.AGAIN, last.ident),
    ]
    numbers = range(len(found.places) - 4, len(found.places))
    entered, again, reached, once_more = (f"gi_loop({number}u, " for number in numbers)
    assert (
        "{ unsigned gi_again_0 = 0;\n#pragma unroll 4\n"
        f"    for (int i = a; (i < n) && {entered}1u) && {again}gi_again_0++); i++)"
    ) in found.text
    assert f"while (({reached}1u) && (p[n] < a)) && {once_more}1u));" in found.text
    assert "row < ROWS; row++" in found.text
    assert "while (0)" in found.text
