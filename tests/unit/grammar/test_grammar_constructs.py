"""Constructs of C++ and CUDA: meanings of names, and fixed parts with reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.errors import UserError
from gi_cuda.grammar import ALL_TYPES, Grammar, RuleType, Source, convert, read_source
from gi_cuda.grammar.frontends.cuda.rules.statement_account import (
    EXPECTED,
    AccountedPart,
    PartKind,
    account,
)

ROOT = Path(__file__).parents[3]
TARGETS = sorted((ROOT / "targets").glob("*/*.cu"))
SOURCES = sorted((ROOT / "tests" / "sources").glob("*.cu"))


def kernel(*lines: str, before: str = "") -> Grammar:
    """A grammar of a kernel whose first line of statements is line 2, after ``before``."""
    head = f"{before}__global__ void k(int *p, float *q, int n) {{\n"
    return convert(Source("a.cu", head + "\n".join(lines) + "\n}\n"))


def offered(grammar: Grammar, place: str) -> set[str]:
    return {grammar.text(donor) for donor in grammar.under({}).donors(place)}


@pytest.mark.parametrize("ampersand", ["", "&", "&&"])
def test_structured_bindings_declare(ampersand: str) -> None:
    grammar = kernel("p[0] = 1;", f"auto {ampersand}[a, b] = f(n);", "a += b;", "p[1] = 2;")
    assert offered(grammar, "_a.cu_2") == {"p[1] = 2;"}
    assert "a += b;" in offered(grammar, "_a.cu_5")


def test_what_a_lambda_captures_and_takes_is_its_own() -> None:
    grammar = kernel(
        "auto f = [s = n, &q](int x) { q[x] = s; return x; };", "p[0] = f(n);", "n = 3;"
    )
    assert {rule.name for rule in grammar.rules if rule.type is RuleType.STATEMENT} == {
        "_a.cu_3",
        "_a.cu_4",
    }
    assert offered(grammar, "_a.cu_4") == {"p[0] = f(n);"}


@pytest.mark.parametrize(
    "declaration",
    [
        "T<3> b = n;",
        "a::T<3> b = n;",
        "int (*b)[4] = g;",
        "T (*b)[4] = g;",
        "float (*b)(int) = g;",
        "T * b;",
        "T & b = g;",
    ],
)
def test_declarations_that_look_like_expressions(declaration: str) -> None:
    grammar = kernel("p[0] = 1;", declaration, "p[1] = b[0];", "p[2] = 3;")
    assert "_a.cu_3" not in [rule.name for rule in grammar.rules]
    assert "p[1] = b[0];" not in offered(grammar, "_a.cu_2")
    assert "p[1] = b[0];" in offered(grammar, "_a.cu_5")


def test_expressions_that_look_like_declarations_are_statements() -> None:
    grammar = kernel("f(n)[2] = 3;", "at(n) = 4;", "larger(p[0], n) = 5;")
    assert len([r for r in grammar.rules if r.type is RuleType.STATEMENT]) == 3


def test_names_in_macros_for_parameters() -> None:
    text = "#define ARGS int *out, int m\n__device__ void f(int *out, int m) { out[0] = m; }\n"
    text += "__global__ void k(ARGS) {\nout[1] = m;\nout[2] = m;\nf(out, m);\n}\n"
    grammar = convert(Source("a.cu", text))
    assert offered(grammar, "_a.cu_4") == {"out[2] = m;", "f(out, m);"}


def test_macros_that_open_blocks_hide_nothing_after_them() -> None:
    before = "#define IF(c) if (c) {\n#define ELSE } else {\n#define END }\n"
    grammar = kernel(
        *("IF(n > 1)", "p[0] = 1;", "ELSE", "p[1] = 2;", "END"),
        *("for (int i = 0; i < n; i++) {", "p[i] = 3;", "}", "p[4] = 5;"),
        before=before,
    )
    rules = {grammar.text(r.name): r.name for r in grammar.rules}
    assert {"p[0] = 1;", "p[1] = 2;", "p[i] = 3;", "i < n", "p[4] = 5;"} <= rules.keys()
    assert "p[i] = 3;" not in offered(grammar, rules["p[4] = 5;"])


def test_definitions_made_by_macros_do_not_swallow_what_follows() -> None:
    before = "#define MAKE(name, op) __device__ int name(int a) { return op a; }\n"
    grammar = kernel("p[0] = minus(n);", before=before + "MAKE(minus, -)\nMAKE(same, +)\n")
    assert [f.name for f in grammar.functions] == ["k"]


def test_a_loop_whose_head_an_if_selects_keeps_its_variable() -> None:
    text = (
        "__global__ void k(int *p, int n) {\n#ifdef A\nfor (int i = 0; i < n; i += 2) {\n#else\n"
        "for (int i = 0; i < n; i++) {\n#endif\np[i] = 1;\np[i] = 2;\n}\np[n] = 3;\n}\n"
    )
    grammar = convert(Source("a.cu", text))
    for macros in ({}, {"A": "1"}):
        view = grammar.under(macros)
        assert {grammar.text(d) for d in view.donors("_a.cu_7")} == {"p[i] = 2;", "p[n] = 3;"}
        assert view.donors("_a.cu_10") == ()


def test_a_block_headed_by_a_macro_keeps_its_variables() -> None:
    before = "#define EACH(i, n) for (int i = 0; i < n; i++)\n"
    grammar = kernel("EACH(i, n) {", "p[i] = 1;", "p[0] = i;", "}", "p[1] = n;", before=before)
    assert offered(grammar, "_a.cu_4") == {"p[0] = i;"}  # n may be another one there
    assert "_a.cu_7" in [rule.name for rule in grammar.rules]
    assert offered(grammar, "_a.cu_7") == set()


# -- kernels by name -----------------------------------------------------------------------------

TWO = "namespace a { __global__ void k() {} }\nnamespace b { __global__ void k() {} }\n"


def test_a_kernel_of_two_namespaces_is_ambiguous() -> None:
    with pytest.raises(UserError) as caught:
        convert(Source("a.cu", TWO), ["k"])
    assert "several kernels 'k'" in caught.value.what
    assert "a::k, b::k" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["b::k", "::b::k", "b::k<int, 3>", "b::k(int *)"])
def test_namespaces_tell_kernels_apart(name: str) -> None:
    (function,) = convert(Source("a.cu", TWO), [name]).functions
    assert function.start > TWO.index("\n")


def test_overloads_and_branches_of_one_name_are_not_ambiguous() -> None:
    text = "#ifdef A\n__global__ void k(int) {}\n#else\n__global__ void k() {}\n#endif\n"
    assert len(convert(Source("a.cu", text), ["k"]).functions) == 2


# -- the account ---------------------------------------------------------------------------------


MACROS = """\
#define LEAVE(x) if (x) return
#define EACH(i, n) for (int i = 0; i < n; i++)
"""


def parts(
    *lines: str, before: str = "", types: frozenset[RuleType] = ALL_TYPES
) -> list[AccountedPart]:
    text = f"{before}__global__ void k(int *p, int n) {{\n" + "\n".join(lines) + "\n}\n"
    return list(account(Source("a.cu", text), None, types))


@pytest.mark.parametrize(
    ("statement", "kind", "reason"),
    [
        ("return;", PartKind.JUMP, "jumps stay"),
        ("int x = n + 1;", PartKind.DECLARATION, "initialisers may change"),
        ("LEAVE(n);", PartKind.STATEMENT, "LEAVE is a macro that"),
        ("int (*b)[4] = g;", PartKind.STATEMENT, "may be a declaration"),
        ("EACH(i, n) { p[i] = 1; }", PartKind.HEADER, "heads a block"),
        ("p[0] =\n#ifdef A\n1;\n#else\n2;\n#endif", PartKind.STATEMENT, "an #if cuts through it"),
        ("if constexpr (N > 1) n = 1;", PartKind.CONDITION, "if constexpr"),
        ("if (int m = n) p[0] = m;", PartKind.CONDITION, "declares a variable"),
        ("switch (n) { }", PartKind.CONDITION, "switch"),
        ("for (int x : list) n += x;", PartKind.HEADER, "range-for"),
        ("p[0] = n @ 3;", PartKind.STATEMENT, "does not understand"),
    ],
)
def test_why_a_part_is_fixed(statement: str, kind: PartKind, reason: str) -> None:
    found = parts(statement, before=MACROS)
    assert any(part.kind is kind and reason in part.reason for part in found), found
    assert not any(part.whole for part in found if part.kind is kind and reason in part.reason)


def test_while_is_a_rule_only_where_all_types_are() -> None:
    (condition,) = (
        part
        for part in parts("while (n) n--;", types=frozenset({RuleType.STATEMENT}))
        if part.kind is PartKind.CONDITION
    )
    assert "--edits full" in condition.reason
    assert any(p.kind is PartKind.CONDITION and p.whole for p in parts("while (n) n--;"))


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_every_part_is_a_rule_or_has_a_reason(file: Path) -> None:
    for part in account(read_source(file), None, ALL_TYPES):
        assert (part.whole and part.compiled) != bool(part.reason)
        assert part.reason != "not asked for", part


@pytest.mark.parametrize("file", TARGETS, ids=lambda file: file.parent.name)
def test_most_of_every_target_is_variable(file: Path) -> None:
    found = [p for p in account(read_source(file)) if p.kind in EXPECTED]
    assert sum(part.variable for part in found) >= 0.85 * len(found)


@pytest.mark.parametrize("behind", ["", "  ", " // why", " /* a\n b */", "\t\r", "\r"])
def test_what_stands_behind_an_include_hides_no_kernel(behind: str) -> None:
    text = f"#include <own.h>{behind}\n__global__\nvoid k(float *a)\n{{\n  a[0] = 1;\n}}\n"
    grammar = convert(Source("k.cu", text))
    assert [one.name for one in grammar.functions] == ["k"]
    assert grammar.source.text == text


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void BOUND\nk",
        "__global__ void BOUNDS(most(2))\nk",
        "static __global__ BOUNDS(256) void k",
        "template <typename T>\nBOUNDS(most(2))\nstatic inline __global__ void k",
        "__global__ void ELSEWHERE k",
    ],
)
def test_macros_in_the_head_of_a_kernel_do_not_hide_it(head: str) -> None:
    macros = "#define BOUND __launch_bounds__(256)\n#define BOUNDS(n) __launch_bounds__(n)\n"
    source = f"{macros}OPEN\n{head}(const int *q, int *p) {{\n  p[0] = q[1];\n}}\nvoid f() {{}}\n"
    grammar = convert(Source("a.cu", source))
    assert [function.name for function in grammar.functions] == ["k"]
    assert {RuleType.STATEMENT, RuleType.RESTRICT} <= {rule.type for rule in grammar.rules}


def test_qualifiers_of_parameters_may_be_macros() -> None:
    text = (
        "#define RESTRICT __restrict__\n"
        "__global__ void k(const float *RESTRICT a, float* RESTRICT b[4], int n) {"
        " if (n < 3) b[0][n] = n * a[n]; }\n"
    )
    found = convert(Source("k.cu", text), None)
    assert [function.name for function in found.functions] == ["k"]
    types = {rule.type for rule in found.rules}
    assert RuleType.IF in types
    assert RuleType.RESTRICT not in types


def test_what_a_condition_asks_for_is_no_macro_in_a_head() -> None:
    source = "#if LEVEL == 3 && defined(WIDE)\n__global__ void k(int *p) { p[0] = 1; }\n#endif\n"
    assert [one.name for one in convert(Source("a.cu", source)).functions] == ["k"]


def test_bounds_that_a_macro_gives_are_the_only_ones() -> None:
    head = "__global__ void {} k(int *p) {{ p[0] = 1; }}\n"
    macro = "#define BOUND __launch_bounds__(256)\n"
    for name, count in (("BOUND", 0), ("OTHER", 1)):
        rules = convert(Source("a.cu", macro + head.format(name))).rules
        assert sum(rule.type is RuleType.BOUNDS for rule in rules) == count
