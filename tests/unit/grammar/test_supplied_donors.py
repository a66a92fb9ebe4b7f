"""Donors written into a ``.bnf`` by hand: typed and scoped like the source's own."""

from __future__ import annotations

import pytest

from gi_cuda.errors import UserError
from gi_cuda.grammar import (
    ALL_TYPES,
    Expansion,
    Grammar,
    Source,
    convert,
    in_force,
    read_grammar,
    render,
    write_bnf,
    write_scope,
)

TEXT = """\
__device__ float half_of(float x) {
  float y = x * 0.5f;
  y += 0.0f;
  return y;
}
__global__ void k(float *p, int n) {
  int i = threadIdx.x;
  if (i < n)
    p[i] = half_of(p[i]);
  for (int j = 0; j < n; j++) {
    p[j] += 1.0f;
  }
  while (n > 3) {
    float i = 2.0f;
    p[n--] = i;
  }
}
"""
SOURCE = Source("a.cu", TEXT)


def with_donors(*productions: str) -> Grammar:
    """The grammar with lines added to its ``.bnf``."""
    grammar = convert(SOURCE, None, ALL_TYPES)
    bnf = write_bnf(grammar) + "".join(f"{line}\n" for line in productions)
    return read_grammar(SOURCE, bnf, write_scope(grammar))


def places(grammar: Grammar, donor: str) -> set[str]:
    return {place for place in grammar.mutable if donor in grammar.under({}).donors(place)}


def test_a_condition_goes_to_all_conditions() -> None:
    grammar = with_donors('<IF_K1> ::= "true"')
    taking = places(grammar, "IF_K1")
    assert taking == {name for name in grammar.mutable if grammar.rule(name).type.kind.condition}
    name = "IF_a.cu_8"
    assert "if (true)\n" in render(grammar, {name: Expansion(body="IF_K1")})
    assert "if ((true) && (i < n))\n" in render(grammar, {name: Expansion(("IF_K1",))})


def test_a_value_goes_where_its_names_and_its_type_are_taken() -> None:
    grammar = with_donors('<rhs_K1> ::= "i + 1"')
    # Not before i is declared, nor where it is a float; where that one begins, it is not yet.
    assert places(grammar, "rhs_K1") == {f"rhs_a.cu_{line}" for line in (9, 10, 11, 14)}
    other = with_donors('<op_K1> ::= "n + 1"')
    taking = places(other, "op_K1")
    assert {other.rule(place).function for place in taking} == {"k"}
    assert {"op_a.cu_8", "op_a.cu_9.2"} <= taking
    assert "if ((n + 1) < n)" in render(other, {"op_a.cu_8": Expansion(body="op_K1")})


def test_the_same_name_of_another_type_is_not_meant() -> None:
    grammar = with_donors('<_K1> ::= "p[i] = 0.0f;"')
    taking = places(grammar, "_K1")
    assert "_a.cu_9" in taking
    assert "_a.cu_11" in taking
    assert "_a.cu_15" not in taking, "there i is a float"
    assert "_a.cu_3" not in taking, "there is no p"
    text = render(grammar, {"_a.cu_11": Expansion(("_K1",))})
    assert "    p[i] = 0.0f;\n    p[j] += 1.0f;\n" in text


def test_a_statement_of_no_names_goes_everywhere() -> None:
    grammar = with_donors('<_K1> ::= "__syncwarp();"', '<_K2> ::= "__syncthreads();"')
    for donor in ("_K1", "_K2"):
        assert places(grammar, donor) == {
            name for name in grammar.mutable if grammar.rule(name).type == "_"
        }


def test_it_is_offered_and_in_force_like_any_donor() -> None:
    grammar = with_donors('<_K1> ::= "p[i] = 0.0f;"')
    view = grammar.under({})
    assert view.may_go("_K1", "_a.cu_9")
    assert not view.may_go("_K1", "_a.cu_15")
    edits = {"_a.cu_15": Expansion(("_K1",)), "_a.cu_9": Expansion(("_K1",))}
    assert in_force(view, edits) == {"_a.cu_9": Expansion(("_K1",))}
    assert grammar.count("_a.cu_9") == len(grammar.donors("_a.cu_9"))


def test_there_and_back() -> None:
    grammar = with_donors('<_K1> ::= "p[i] = 0.0f;"', '<rhs_K1> ::= "i + 1"')
    assert read_grammar(SOURCE, write_bnf(grammar), write_scope(grammar)) == grammar
    assert render(grammar, {}) == TEXT


@pytest.mark.parametrize(
    ("production", "said"),
    [
        ('<_K1> ::= "int t = 3;"', "is not one statement without a declaration"),
        ('<_K1> ::= "p[0] = 1; p[1] = 2;"', "is not one statement"),
        ('<IF_K1> ::= "i <"', "is not an expression"),
        ('<rhs_K1> ::= "y + i"', "no place where all names of <rhs_K1> are declared: i, y"),
        ('<rhs_K1> ::= "unknown(3)"', "the type of <rhs_K1> is not certain"),
        ('<ELSE_K1> ::= "else p[0] = 1;"', "is not a donor"),
        ("<_K1> ::= <_K2>", "is not a donor"),
    ],
)
def test_what_cannot_be_one_is_told_with_its_line(production: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("(", r"\(")) as caught:
        with_donors(production)
    assert str(caught.value.where).startswith("a.cu.bnf:")
