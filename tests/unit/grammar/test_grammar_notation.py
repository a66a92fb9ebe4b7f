"""The .bnf and .scope files: written, read back, and edited by hand."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.grammar import (
    ALL_TYPES,
    Expansion,
    Grammar,
    RuleType,
    Source,
    convert,
    read_grammar,
    read_source,
    render,
    write_bnf,
    write_scope,
)
from gi_cuda.grammar.notation.bnf import quote, unquote

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))
TEXT = """\
__global__ void k(int *p, int n) {
  p[0] = 1;
  int x = p[1];
  p[2] = 3; p[4] = 5;
  if (n) {
    p[6] = x;
  } else {
    p[7] = 8;
  }
}
"""
SOURCE = Source("k.cu", TEXT)


def files(source: Source = SOURCE) -> tuple[Grammar, str, str]:
    grammar = convert(source)
    return grammar, write_bnf(grammar), write_scope(grammar)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_there_and_back(file: Path) -> None:
    source = read_source(file)
    grammar, bnf, scope = files(source)
    back = read_grammar(source, bnf, scope)
    assert back == grammar
    assert write_bnf(back) == bnf
    assert write_scope(back) == scope


def test_a_rule_of_several_lines_that_starts_its_line() -> None:
    text = "__global__ void k(int *p) {\nif (p[0])\np[1] = 1;\nelse\n{\np[2] =\n2;\n}\n}"
    grammar, bnf, scope = files(Source("k.cu", text))
    assert read_grammar(grammar.source, bnf, scope) == grammar


@given(st.text())
def test_strings_there_and_back(text: str) -> None:
    quoted = quote(text)
    assert unquote(quoted) == text
    assert "\n" not in quoted
    assert re.fullmatch(r'"(?:\\.|[^"\\])*"', quoted)


def test_bytes_that_are_no_utf8_survive() -> None:
    source = Source("k.cu", "// \udcff\udc80 é\n" + TEXT)
    grammar, bnf, scope = files(source)
    assert bnf.encode("utf-8").decode("utf-8") == bnf
    assert read_grammar(source, bnf, scope) == grammar


def test_lines_are_as_in_the_paper() -> None:
    _, bnf, _ = files()
    assert '<k.cu_2> ::= "  " <_k.cu_2> "\\n"\n<_k.cu_2> ::= "p[0] = 1;"\n' in bnf
    assert '<k.cu_4> ::= "  " <_k.cu_4> " " <_k.cu_4.2> "\\n"\n' in bnf
    assert '<ELSE_k.cu_7> ::= "else {\\n" <k.cu_8> "  }"\n' in bnf


def test_a_rule_written_out_is_fixed() -> None:
    _, bnf, scope = files()
    bnf = bnf.replace('"  " <_k.cu_2> "\\n"', '"  p[0] = 1;\\n"')
    grammar = read_grammar(SOURCE, bnf, scope)
    assert "_k.cu_2" not in grammar.under({}).mutable
    assert all("_k.cu_2" not in grammar.donors(rule.name) for rule in grammar.rules)


def test_a_rule_added_is_used() -> None:
    _, bnf, scope = files()
    bnf = bnf.replace(
        '<k.cu_3> ::= "  int x = p[1];\\n"',
        '<k.cu_3> ::= "  int x = " <rhs_k.cu_3> ";\\n"\n<rhs_k.cu_3> ::= "p[1]"',
    )
    grammar = read_grammar(SOURCE, bnf, scope + "<rhs_k.cu_3>:\n")
    rule = grammar.rule("rhs_k.cu_3")
    assert rule.type is RuleType.RHS
    assert grammar.text("rhs_k.cu_3") == "p[1]"
    bnf = files()[1].replace(
        '"  int x = p[1];\\n"', '"  " <_k.cu_3> "\\n"\n<_k.cu_3> ::= "int x = p[1];"'
    )
    grammar = read_grammar(SOURCE, bnf, scope + "<_k.cu_3>: 2\n")
    assert "int x = p[1];" not in render(grammar, {"_k.cu_3": Expansion(body="")})
    assert grammar.under({}).donors("_k.cu_2") == (
        "_k.cu_3",
        "_k.cu_4",
        "_k.cu_4.2",
        "_k.cu_8",
    ) or "_k.cu_3" in grammar.under({}).donors("_k.cu_2")


def test_places_taken_out_and_put_in() -> None:
    grammar, bnf, scope = files()
    assert "<_k.cu_2>: 2-8\n" in scope
    forbidden = read_grammar(SOURCE, bnf, scope.replace("<_k.cu_2>: 2-8", "<_k.cu_2>: 4.2 6-8"))
    assert "_k.cu_2" not in forbidden.donors("_k.cu_4")
    assert "_k.cu_2" not in forbidden.under({}).donors("_k.cu_4")
    assert "_k.cu_2" in forbidden.under({}).donors("_k.cu_4.2")
    assert "_k.cu_6" not in grammar.under({}).donors("_k.cu_2")
    granted = read_grammar(SOURCE, bnf, scope.replace("<_k.cu_6>: ", "<_k.cu_6>: 2 "))
    assert "_k.cu_6" in granted.under({}).donors("_k.cu_2")
    before, now = (
        {rule.name for rule in one.rules if "_k.cu_6" in one.donors(rule.name)}
        for one in (grammar, granted)
    )
    assert now == before | {"_k.cu_2"}


def test_special_donors_may_be_chosen() -> None:
    _, bnf, scope = files()
    bnf = re.sub(r"<launchbounds_K\d+> ::= .*\n", "", bnf)
    bnf += '<launchbounds_K96> ::= "__launch_bounds__(96)"\n'
    grammar = read_grammar(SOURCE, bnf, scope)
    assert grammar.donors("launchbounds_k.cu_1") == ("launchbounds_K96",)
    text = render(grammar, {"launchbounds_k.cu_1": Expansion(body="launchbounds_K96")})
    assert "__launch_bounds__(96)" in text


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"p[0] = 1;"', '"p[0] = 2;"', True, "line 2 of k.cu"),
        ("<k.cu_2> ::=", "<k.cu_2> := ", True, "production"),
        ("<_k.cu_2> ::=", "<_k.cu_22> ::=", True, "not defined"),
        ('<_k.cu_2> ::= "p[0] = 1;"', "<_k.cu_2> ::= <k.cu_2>", True, "within itself"),
        ('<_k.cu_2> ::= "p[0] = 1;"', '<k.cu_1> ::= ""', True, "second time"),
        ("<k.cu> ::=", "<other.cu> ::=", False, "start symbol"),
    ],
)
def test_bnf_that_cannot_be(old: str, new: str, line: bool, says: str) -> None:
    _, bnf, scope = files()
    assert old in bnf
    with pytest.raises(UserError) as caught:
        read_grammar(SOURCE, bnf.replace(old, new), scope)
    assert says in caught.value.what
    assert re.match(r"k\.cu\.bnf:\d+$" if line else r"k\.cu\.bnf", caught.value.where or "")


def test_a_source_that_changed_since() -> None:
    _, bnf, scope = files()
    changed = Source("k.cu", TEXT.replace("p[7]", "p[9]"))
    with pytest.raises(UserError, match=r"line 8 of k\.cu") as caught:
        read_grammar(changed, bnf, scope)
    assert 'has "7] = 8;' in caught.value.what


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("<_k.cu_99>: 2", "no variable rule"),
        ("<_k.cu_2>: 99", "no rule of type"),
        ("<_k.cu_2>: 5", "no rule of type"),
        ("<_k.cu_2> 2", "not a line"),
        ("<launchbounds_k.cu_1>: 1", "no variable rule"),
    ],
)
def test_scope_that_cannot_be(line: str, says: str) -> None:
    _, bnf, scope = files()
    with pytest.raises(UserError) as caught:
        read_grammar(SOURCE, bnf, f"{scope}# mine\n{line}\n")
    assert says in caught.value.what
    assert caught.value.where == f"k.cu.scope:{scope.count(chr(10)) + 2}"


def pairs(grammar: Grammar) -> set[tuple[str, str]]:
    return {(donor, r.name) for r in grammar.rules for donor in grammar.donors(r.name)}


@pytest.mark.parametrize("file", SOURCES[::4], ids=lambda file: file.stem)
def test_scope_files_edited_at_random_mean_what_they_say(file: Path) -> None:
    """Exactly the pairs in the file are allowed, however it was edited."""
    source = read_source(file)
    grammar = convert(source, types=ALL_TYPES)
    bnf, lines = write_bnf(grammar), write_scope(grammar).splitlines()
    rng = random.Random(1)
    for k in rng.sample(range(len(lines)), min(12, len(lines))):
        name, colon, words = lines[k].partition(": ")
        if colon and not name.startswith("#"):
            kept = [word for word in words.split() if rng.random() < 0.6]
            lines[k] = f"{name}: {' '.join(kept)}".rstrip()
    edited = read_grammar(source, bnf, "\n".join(lines), types=ALL_TYPES)
    assert pairs(edited) < pairs(grammar)
    again = read_grammar(source, bnf, write_scope(edited), types=ALL_TYPES)
    assert again.changes == edited.changes
    for one in (grammar, edited):
        view = one.under({})
        for rule in one.rules:
            assert one.count(rule.name) == len(one.donors(rule.name))
        for name in view.mutable:
            assert view.count(name) == len(view.donors(name))


def test_a_kernel_of_thousands_of_statements_is_written_and_read_at_once() -> None:
    """The work is in the number of rules, not in that of pairs of them."""
    lines = "".join(f"    p[{k}] = n;\n" for k in range(2000))
    source = Source("k.cu", f"__global__ void k(int *p, int n) {{\n{lines}}}\n")
    grammar, bnf, scope = files(source)
    assert scope.count("\n<_k.cu_") == scope.count(": 2-2001\n") == 2000
    assert read_grammar(source, bnf, scope) == grammar


def test_messages_list_the_first_kernels_of_many() -> None:
    text = "".join(f"__global__ void k{n}() {{ }}\n" for n in range(700))
    with pytest.raises(UserError) as caught:
        convert(Source("k.cu", text), ["none"])
    assert (caught.value.hint or "").endswith("k18, k19 and 680 more")
