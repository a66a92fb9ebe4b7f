"""Fusion and fission: seams of loops, and their rendering."""

from __future__ import annotations

import pytest

from gi_cuda.genome import Genotype, Space, expansions, read_genotype
from gi_cuda.grammar import (
    EDIT_SETS,
    Grammar,
    Operation,
    RuleType,
    Source,
    Why,
    convert,
    read_grammar,
    render,
    write_bnf,
    write_scope,
)
from gi_cuda.grammar.frontends.cuda.coverage.marks import counted, marked
from gi_cuda.grammar.frontends.cuda.coverage.untested import untested
from gi_cuda.grammar.frontends.cuda.rendering.schema import unchosen
from gi_cuda.grammar.frontends.cuda.text.reading import is_balanced

KERNEL = """\
__global__ void k(int *p, int *q, int n) {
    int s = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        int t = p[i];
        p[i] = t + 1;
        q[i] = 2;
    }
    // Then
    for (int j = 0; j < n; j++) { // the other
        q[j] += s;
        s++;
    }
    for (int j = 0; j < n; j++)
        s *= j;
    p[0] = s;
}
"""
FUSE, DIVIDE = "<seam_k.cu_8>", "<seam_k.cu_7><seam_K>"


def of(text: str = KERNEL, edits: str = "loops") -> Grammar:
    return convert(Source("k.cu", text), types=EDIT_SETS[edits])


def seams(grammar: Grammar) -> dict[str, str]:
    """The edits that seams offer, by their rules."""
    kinds = {(Operation.DELETE,): "fuse", (Operation.REPLACE,): "divide"}
    rules = (rule.name for rule in grammar.rules if rule.type is RuleType.SEAM)
    return {name: kinds[grammar.operations(name)] for name in rules}


def rendered(edits: str, text: str = KERNEL, limits: dict[int, int] | None = None) -> str:
    grammar = of(text)
    genotype = read_genotype(edits, Space(), grammar)
    assert isinstance(genotype, Genotype)
    assert str(genotype) == edits
    return render(grammar, expansions(genotype.edits), limits)


def in_kernel(body: str, before: str = "") -> dict[str, str]:
    """The seams of a kernel with this body."""
    return seams(of(f"{before}__global__ void k(int *p, int *q, int n) {{\n{body}\n}}\n"))


def test_there_are_seams_between_loops_of_one_header_and_in_bodies() -> None:
    assert seams(of()) == {
        "seam_k.cu_7": "divide",
        "seam_k.cu_8": "fuse",
        "seam_k.cu_12": "divide",
    }
    assert not seams(of(edits="full"))


def test_a_fusion_takes_the_second_header_away_and_keeps_its_counter() -> None:
    expected = KERNEL.replace("    }\n    // Then\n", "    // Then\n")
    expected = expected.replace(
        "    for (int j = 0; j < n; j++) { // the other\n", "        int j = i;\n", 1
    )
    assert rendered(FUSE) == expected


def test_a_fission_ends_a_loop_and_begins_it_once_more() -> None:
    again = "    }\n#pragma unroll 4\n    for (int i = 0; i < n; i++) {\n        q[i] = 2;"
    assert rendered(DIVIDE) == KERNEL.replace("        q[i] = 2;", again)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_bodies_without_braces_get_some(ending: str) -> None:
    text = (
        "__global__ void k(int *p, int n) {\n    for (int i = 0; i < n; i++)\n        p[i] = 1;\n"
    )
    text += "    for (int i = 0; i < n; i++) p[i]++;\n}\n"
    fused = rendered("<seam_k.cu_3>", text.replace("\n", ending))
    expected = text.replace("    p[i] = 1;", "    { p[i] = 1;").replace(
        "    for (int i = 0; i < n; i++) p[i]++;", "    p[i]++; }"
    )
    assert fused == expected.replace("\n", ending)


def test_bodies_that_declare_one_name_keep_their_braces() -> None:
    body = "for (int i = 0; i < n; i++) { int t = p[i]; q[i] = t; }\n"
    text = "__global__ void k(int *p, int *q, int n) {\n" + 2 * body + "}\n"
    inner = "{ int t = p[i]; q[i] = t; }"
    once = f"for (int i = 0; i < n; i++) {{ {inner}\n{inner} }}\n"
    assert rendered("<seam_k.cu_2>", text) == text.replace(2 * body, once)


def test_loops_on_one_line_are_divided_on_it() -> None:
    text = (
        "__global__ void k(int *p, int n) {\n  for (int i = 0; i < n; i++) { p[i]++; p[0]--; }\n}\n"
    )
    again = "p[i]++; } for (int i = 0; i < n; i++) { p[0]--;"
    assert rendered("<seam_k.cu_2><seam_K>", text) == text.replace("p[i]++; p[0]--;", again)


def test_what_is_fused_is_guarded_as_one_and_what_is_divided_as_two() -> None:
    limits = {0: 8, 1: 9}
    fused = rendered(FUSE, limits=limits)
    assert fused.count("gi_guard_0++ < 8") == 1
    assert "gi_guard_1" not in fused
    assert fused.endswith(
        "        s++;\n    } }\n    for (int j" + fused.rpartition("for (int j")[2]
    )
    divided = rendered(DIVIDE, limits=limits)
    assert divided.count("gi_guard_0++ < 8") == 2
    both = rendered(f"{DIVIDE} {FUSE}", limits=limits)
    assert both.count("gi_guard_0++ < 8") == 2
    assert both.count("} } }\n    for (int j") == 1
    assert all(map(is_balanced, (fused, divided, both)))


def test_edits_of_a_header_that_goes_are_void() -> None:
    assert rendered(f"{FUSE} <for3_k.cu_10>") == rendered(FUSE)
    assert rendered(f"{FUSE} <_k.cu_12>") == rendered(FUSE).replace("        s++;\n", "")


def test_a_fission_is_void_that_hides_a_name_of_an_edit() -> None:
    grammar = of()
    assert grammar.rule("seam_k.cu_7").seam is not None
    assert "_k.cu_6" in grammar.donors("_k.cu_7")
    edit = "<_k.cu_7><_k.cu_6>"
    assert rendered(f"{DIVIDE} {edit}") == rendered(edit)
    other = "<_k.cu_7><_k.cu_12>"
    assert rendered(f"{DIVIDE} {other}") != rendered(other)


LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    "body",
    [
        f"{LOOP} {{ int t = p[i]; q[i]++; p[i] = t; }}",
        f"{LOOP} {{ if (p[i]) break; q[i]++; p[i]--; }}",
        f"{LOOP} {{ if (p[i]) continue; q[i]++; p[i]--; }}",
        f"{LOOP} {{ if (p[i]) return; q[i]++; p[i]--; }}",
        f"{LOOP} {{ LEAVE(p[i]); q[i]++; }}",
        f"{LOOP} {{ q[i]++; again: p[i]--; }}",
        f"{LOOP} {{ q[i]++; n--; }}",
        f"{LOOP} {{ q[i]++; int t = 3; }}",
        f"{LOOP} {{ q[i]++;\n#ifdef A\n p[i]--;\n#endif\n }}",
        f"{LOOP} {{ q[i]++;\n#pragma GCC ivdep\n for (int j = 0; j < 4; j++) p[j]--; }}",
        "for (int i = 0; i < n;) { q[i]++; i++; }",
        "for (;;) { q[0]++; p[0]--; }",
        f"if (n) {LOOP} {{ q[i]++; p[i]--; }}",
        f"auto f = [=] {{ {LOOP} {{ q[i]++; p[i]--; }} }};",
    ],
)
def test_loops_are_not_divided_where_that_cannot_be(body: str) -> None:
    assert not in_kernel(body, "#define LEAVE(c) if (c) break\n")


@pytest.mark.parametrize(
    "body",
    [
        f"{LOOP} q[i]++; for (int i = 1; i < n; i++) p[i]--;",
        f"{LOOP} q[i]++; for (long i = 0; i < n; i++) p[i]--;",
        f"{LOOP} q[i]++; p[0]--; {LOOP} p[i]--;",
        f"{LOOP} q[i]++;\n#ifdef A\n {LOOP} p[i]--;\n#endif",
        f"{LOOP} q[i]++; if (n) {LOOP} p[i]--;",
        f"{LOOP} {{ if (p[i]) break; }} {LOOP} p[i]--;",
        f"{LOOP} q[i]++; for (int j = 0; j < n; j++) p[j]--;",
        f"{LOOP} {{ int t = 1; q[i] = t; }} for (int j = 0; j < n; j++) {{ int t = 2; q[j] = t; }}",
        f"int j = 2; {LOOP} {{ q[i] = j; }} for (int j = 0; j < n; j++) {{ q[j]++; }}",
        f"{LOOP} {{ q[n] = 1; }} q: {LOOP} {{ p[i]--; }}",
    ],
)
def test_loops_are_not_fused_where_that_cannot_be(body: str) -> None:
    assert "fuse" not in in_kernel(body).values()


def test_jumps_of_inner_loops_do_no_harm() -> None:
    inner = "for (int j = 0; j < n; j++) if (p[j]) break; switch (n) { case 1: break; }"
    found = in_kernel(f"{LOOP} {{ {inner} q[i]++; }} {LOOP} p[i]--;")
    assert sorted(found.values()) == ["divide", "divide", "fuse"]


@pytest.mark.parametrize("edits", ["loops", "all"])
def test_the_files_of_a_grammar_give_it_back(edits: str) -> None:
    grammar = of(edits=edits)
    assert read_grammar(grammar.source, write_bnf(grammar), write_scope(grammar)) == grammar
    assert '<seam_K> ::= "} for (...) {"\n' in write_bnf(grammar)


def test_which_loops_there_are_cannot_be_chosen_as_it_runs() -> None:
    grammar = of()
    for edit in (FUSE, DIVIDE):
        genotype = read_genotype(edit, Space(), grammar)
        assert unchosen(grammar, expansions(genotype.edits)) is None
    other = read_genotype("<for3_k.cu_10>", Space(), grammar)
    assert unchosen(grammar, expansions(other.edits)) == {}


def test_a_seam_is_reached_where_its_loop_is() -> None:
    grammar = of()
    assert "gi_loop(0u, 1u); }\n    // Then" in marked(grammar, "seam_k.cu_8")
    assert "gi_loop(0u, 1u);         q[i] = 2;" in marked(grammar, "seam_k.cu_7")


def test_seams_of_a_loop_that_never_goes_round_again_are_untested() -> None:
    grammar = of()
    names = [rule.name for rule in grammar.rules]
    places = counted(grammar, names).places
    seen = [place for place in places if place.outcome != "again"]
    found = untested(grammar, names, places, seen).rules
    assert {found[name].why for name in seams(grammar)} == {Why.NEVER_AGAIN}
    assert not untested(grammar, names, places, places).rules
