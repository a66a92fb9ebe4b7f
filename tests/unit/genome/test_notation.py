"""Notation of genotypes: parsing, printing, and messages on invalid text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.genome import Delete, Genotype, Insert, Replace, Space, read_genotype
from gi_cuda.genome.space import spell
from gi_cuda.spec import Parameter, ParameterKind


@given(data=st.data())
def test_round_trip(data, genotypes, space, grammar) -> None:
    genotype = data.draw(genotypes)
    assert read_genotype(str(genotype), space, grammar) == genotype


VALUES = st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)


@given(values=st.lists(VALUES, min_size=2, unique=True), data=st.data())
def test_round_trip_of_any_value(values, data, grammar) -> None:
    space = Space((Parameter("P", ParameterKind.MACRO, tuple(values), values[0]),))
    genotype = Genotype(space.default.having({"P": data.draw(st.sampled_from(values))}))
    assert read_genotype(str(genotype), space, grammar) == genotype


@given(VALUES, VALUES)
def test_values_are_spelled_apart(one, other) -> None:
    assert (spell(one) == spell(other)) is (type(one) is type(other) and repr(one) == repr(other))


def test_every_form(space, grammar) -> None:
    text = ' CACHE=16\tTYPE="7" <_k.cu_3> <_k.cu_4><_k.cu_5>\n<_k.cu_5>+<_k.cu_4> '
    genotype = read_genotype(text, space, grammar)
    assert genotype.configuration == space.default.having({"CACHE": 16, "TYPE": "7"})
    assert genotype.edits == (
        Delete("_k.cu_3"),
        Replace("_k.cu_4", "_k.cu_5"),
        Insert("_k.cu_5", "_k.cu_4"),
    )


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_nothing_is_the_reference(text, space, grammar) -> None:
    assert read_genotype(text, space, grammar) == Genotype(space.default)


def test_settings_may_follow_edits(space, grammar) -> None:
    genotype = read_genotype("<_k.cu_3> CACHE=16", space, grammar)
    assert str(genotype) == "CACHE=16 <_k.cu_3>"


MISTAKES = {
    "BLOCKW=64": (1, "there is no parameter BLOCKW", "BLOCK_W"),
    "CACHE=16 BLOCK_W=65": (18, "BLOCK_W does not take the value 65", "32, 64, 128"),
    "CACHE=16 CACHE=32": (10, "CACHE is set twice", "one value"),
    "TYPE=7": (6, "TYPE does not take the value 7", '"7"'),
    "<_k.cu_3> <_k.cu_99>": (11, "there is no rule <_k.cu_99>", "convert TARGET --explain"),
    "<_k.cu_3><_k.cu_300>": (10, "there is no rule <_k.cu_300>", "convert TARGET --explain"),
    "<_k.cu_3><IF_k.cu_12>": (10, "<IF_k.cu_12> may not go to <_k.cu_3>", "same type"),
    "<_k.cu_3><_k.cu_13>": (10, "<_k.cu_13> may not go to <_k.cu_3>", "in scope"),
    "<_k.cu_3><_k.cu_3>": (10, "<_k.cu_3> may not go to <_k.cu_3>", "another rule"),
    "<pragma_k.cu_14>": (1, "<pragma_k.cu_14> does not offer to delete", "replace"),
    "<_k.cu_3": (1, "`<_k.cu_3` was not expected", "NAME=value"),
    "<_k.cu_3>+": (11, "the genotype ends too early", "insert"),
    "CACHE=": (7, "the genotype ends too early", "NAME=value"),
    "CACHE": (6, "the genotype ends too early", "NAME=value"),
    "CACHE = 16": (6, "`=` was not expected", "white space"),
    "<_k.cu_3> + <_k.cu_4>": (11, "`+` was not expected", "white space"),
    "<_k.cu_3><_k.cu_4><_k.cu_5>": (19, "`<_k.cu_5>` was not expected", "white space"),
    "<>": (1, "`<>` was not expected", "<a>"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_name_the_word_and_the_column(text, space, grammar) -> None:
    column, what, hint = MISTAKES[text]
    with pytest.raises(UserError) as caught:
        read_genotype(text, space, grammar)
    assert caught.value.what == what
    assert caught.value.where == f"genotype, column {column}"
    assert hint in (caught.value.hint or "")


def test_a_broken_constraint_is_named_with_its_values_and_reason(space, grammar) -> None:
    with pytest.raises(UserError) as caught:
        read_genotype("CACHE=64", space, grammar)
    assert "`CACHE <= BLOCK_W / 4`: BLOCK_W = 128, CACHE = 64" in caught.value.what
    assert caught.value.hint == "the cache is loaded by a quarter"


PIECES = st.sampled_from(
    ["<_k.cu_3>", "<_k.cu_4>", "<IF_k.cu_12>", "<", ">", "+", " ", "=", "CACHE", "16", '"', "\\"]
)


@given(text=st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20))
def test_any_text_is_a_genotype_or_a_users_mistake(text, space, grammar) -> None:
    try:
        genotype = read_genotype(text, space, grammar)
    except UserError:
        return
    assert read_genotype(str(genotype), space, grammar) == genotype
