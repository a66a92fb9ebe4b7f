"""Numbers that change by a step: their places, values and rendering."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype, Space, expansions, read_genotype
from gi_cuda.grammar import (
    EDIT_SETS,
    Expansion,
    Grammar,
    Operation,
    RuleType,
    Source,
    convert,
    read_grammar,
    read_source,
    render,
    touched_loops,
    write_bnf,
    write_scope,
)
from gi_cuda.grammar.frontends.cuda.coverage.marks import marked
from gi_cuda.grammar.frontends.cuda.rendering.schema import schema, unchosen
from gi_cuda.grammar.steps import steps, whole

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))


def numbers(text: str) -> Grammar:
    return convert(Source("k.cu", text), types=EDIT_SETS["numbers"])


def body(*lines: str, head: str = "__global__ void k(int *p, int n)") -> str:
    return "\n".join((f"{head} {{", *lines, "}", ""))


def found(text: str) -> list[str]:
    """The numbers that change, in order."""
    grammar = numbers(text)
    return [grammar.text(rule.name) for rule in grammar.rules if rule.type is RuleType.NUMBER]


# -- steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("16", "17 15 32 8"),
        ("5", "6 4 10 2"),
        ("2", "3 1 4"),
        ("1", "2 0"),
        ("0", "1"),
        ("0x1Fu", "0x20u 0x1eu 0x3eu 0xfu"),
        ("8UL", "9UL 7UL 16UL 4UL"),
        ("2147483647", "2147483646 1073741823"),
        ("017", ""),
        ("1.0", ""),
        ("2f", ""),
        ("-1", ""),
    ],
)
def test_the_steps_of_a_number(own: str, expected: str) -> None:
    assert " ".join(steps(own)) == expected


@given(st.integers(0, 2**33), st.sampled_from(["{}", "{:#x}", "{}u", "{:#X}LL"]))
def test_steps_are_numbers_of_the_same_kind_and_never_negative(number: int, form: str) -> None:
    own = form.format(number)
    assert whole(own) == number
    for step in steps(own):
        value = whole(step)
        assert value is not None
        assert value in {number + 1, number - 1, 2 * number, number // 2} - {number}
        assert step[:2].lower().startswith("0x") == own[:2].lower().startswith("0x")
        assert step.lstrip("0123456789abcdefxX") == own.lstrip("0123456789abcdefxABCDEFX")


# -- which numbers -----------------------------------------------------------------------------


def test_numbers_of_headers_sizes_bounds_and_indices_change() -> None:
    text = body(
        "    __shared__ float t[16][17];",
        "    for (int i = 0, j = 3; i < 20u; i += 2) {",
        "        p[4 * i + 5] = 100 + t[6][i];",
        "        while (p[7] < 8) p[n] += 100;",
        "    }",
        "    do { p[9]++; } while (n > 10);",
        head="__global__ void __launch_bounds__(256, 1) k(int *p, int n)",
    )
    assert " ".join(found(text)) == "256 1 16 17 0 3 20u 2 4 5 6 7 8 9 10"


@pytest.mark.parametrize(
    "line",
    [
        "int t[4] = {1, 2, 3, 4};",
        "int one[1], more[WIDTH + 1]; one[n] = more[n];",
        "if (n > 3) n = 4;",
        "auto f = [&](int i) { return p[2]; };",
        "struct pair { int of[2]; };",
        "for (float x = 0.5f; x < 1.5f; x += .25f) n++;",
        "TWICE(p[2]);",
    ],
)
def test_other_numbers_stay(line: str) -> None:
    assert found(f"#define WIDTH 0\n#define TWICE(x) x + x\n{body(line)}") == []


def test_they_change_only_when_asked_for() -> None:
    text = body("    for (int i = 0; i < 16; i++) p[3] = i;")
    full, more = (
        convert(Source("k.cu", text), types=EDIT_SETS[name]) for name in ("full", "numbers")
    )
    assert [rule for rule in more.rules if rule.type is not RuleType.NUMBER] == list(full.rules)
    assert full.specials.items() <= more.specials.items()
    assert not any(name.startswith("num_") for name in full.specials)
    for rule in full.rules:
        assert more.donors(rule.name) == full.donors(rule.name)


# -- what they become --------------------------------------------------------------------------

LOOP = body(
    "    __shared__ int t[8];", "    for (int i = 0; i < 16; i++)", "        t[i] = p[2 * i];"
)


def test_a_number_takes_its_own_steps_alone() -> None:
    grammar = numbers(LOOP)
    offers = {
        rule.name: [grammar.text(donor) for donor in grammar.donors(rule.name)]
        for rule in grammar.rules
        if rule.type is RuleType.NUMBER
    }
    assert offers == {
        "num_k.cu_2": ["4", "7", "9", "16"],
        "num_k.cu_3": ["1"],
        "num_k.cu_3.2": ["8", "15", "17", "32"],
        "num_k.cu_4": ["1", "3", "4"],
    }
    for place in offers:
        assert grammar.operations(place) == (Operation.REPLACE,)
        assert grammar.under({}).count(place) == len(grammar.under({}).donors(place))


def test_notation_says_what_a_number_becomes() -> None:
    grammar, space = numbers(LOOP), Space()
    genotype = read_genotype("<num_k.cu_3.2><num_K32> <num_k.cu_2><num_K16>", space, grammar)
    assert str(genotype) == "<num_k.cu_3.2><num_K32> <num_k.cu_2><num_K16>"
    expected = LOOP.replace("i < 16", "i < 32").replace("t[8]", "t[16]")
    assert render(grammar, expansions(genotype.edits)) == expected
    with pytest.raises(UserError, match=r"may not go to <num_k\.cu_2>"):
        read_genotype("<num_k.cu_2><num_K32>", space, grammar)


def test_a_step_in_a_header_guards_the_loop() -> None:
    grammar = numbers(LOOP)
    of_header = {"num_k.cu_3.2": Expansion(body="num_K32")}
    assert touched_loops(grammar, of_header) == {0}
    assert "gi_guard_0++ < 7" in render(grammar, of_header, {0: 7})
    assert not touched_loops(grammar, {"num_k.cu_4": Expansion(body="num_K4")})


def test_what_must_be_constant_is_that_of_all() -> None:
    grammar = numbers(LOOP)
    size = {"num_k.cu_2": Expansion(body="num_K16")}
    index = {"num_k.cu_4": Expansion(body="num_K4")}
    assert unchosen(grammar, size | index) == size
    assert unchosen(grammar, index) == {}
    assert "if (gi_chosen == 1u) { t[i] = p[4 * i]; } else" in schema(grammar, [index])
    both = schema(grammar, [size, size | index])
    assert "t[16];" in both
    assert "if (gi_chosen == 2u) { t[i] = p[4 * i]; } else" in both


def test_a_mark_is_where_the_number_counts() -> None:
    grammar = numbers(LOOP)
    assert marked(grammar, "num_k.cu_2").startswith("__global__ void k(int *p, int n) { gi_loop")
    assert "t[i] = (gi_loop(0u, 1u) ? (p[2 * i]) : (p[2 * i]));" in marked(grammar, "num_k.cu_4")


def test_a_grammar_edited_by_hand_says_which_numbers_change() -> None:
    grammar = numbers(LOOP)
    bnf, scope = write_bnf(grammar), write_scope(grammar)
    fewer = bnf.replace('<num_K32> ::= "32"\n', "").replace('"t[" <num_k.cu_2> "]"', '"t[8]"')
    edited = read_grammar(grammar.source, fewer, scope)
    assert "num_K32" not in edited.donors("num_k.cu_3.2")
    assert set(grammar.mutable) - set(edited.mutable) <= {"num_k.cu_2"}


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_the_files_of_a_grammar_give_it_back(file: Path) -> None:
    source = read_source(file)
    grammar = convert(source, types=EDIT_SETS["all"])
    assert read_grammar(source, write_bnf(grammar), write_scope(grammar)) == grammar


@given(st.data())
def test_every_step_is_read_as_it_is_written(data: st.DataObject) -> None:
    grammar = GRAMMARS[data.draw(st.sampled_from(sorted(GRAMMARS)))]
    places = [one.name for one in grammar.rules if one.type is RuleType.NUMBER]
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True, min_size=1, max_size=4))
    words = [f"<{one}><{data.draw(st.sampled_from(grammar.donors(one)))}>" for one in chosen]
    genotype = read_genotype(" ".join(words), Space(), grammar)
    assert isinstance(genotype, Genotype)
    assert str(genotype) == " ".join(words)
    changed = render(grammar, expansions(genotype.edits))
    at, parts = 0, []
    for edit in sorted(genotype.edits, key=lambda one: grammar.rule(one.place).start):
        rule = grammar.rule(edit.place)
        assert edit.donor is not None
        parts += [grammar.source.text[at : rule.start], grammar.text(edit.donor)]
        at = rule.end
    assert changed == "".join((*parts, grammar.source.text[at:]))


GRAMMARS = {
    name: convert(read_source(SOURCES[0].parent / f"{name}.cu"), types=EDIT_SETS["numbers"])
    for name in ("histogram", "stencil", "shared", "align")
}
