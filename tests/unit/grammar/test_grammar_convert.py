"""Reading sources: rules, fixed parts, no crashes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.grammar import Expansion, RuleType, Source, convert, instrument, read_source, render

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))


def names(text: str, kernels: list[str] | None = None) -> list[str]:
    return [rule.name for rule in convert(Source("a.cu", text), kernels).rules]


def test_names_tell_type_and_line_and_which_on_the_line() -> None:
    text = (
        "__global__ void k(int n) {\n  if (n) n = 1; else n = 2; n = 3;\n  for (; n < 3; n++) ;\n}"
    )
    assert names(text) == [
        "launchbounds_a.cu_1",
        "IF_a.cu_2",
        "_a.cu_2",
        "ELSE_a.cu_2",
        "_a.cu_2.2",
        "_a.cu_2.3",
        "pragma_a.cu_3",
        "for2_a.cu_3",
        "for3_a.cu_3",
    ]


def test_only_kernels_and_what_they_reach_evolve() -> None:
    text = (
        "#define CALL(x) far(x)\n__device__ void far(int *p) { p[0] = 1; }\n"
        "__device__ void near(int *p) { CALL(p); }\n__device__ void never(int *p) { p[0] = 2; }\n"
        "void host(int *p) { p[0] = 3; }\n__global__ void a(int *p) { near(p); }\n"
        "__global__ void b(int *p) { p[0] = 4; }\nint main() { a<<<1, 1>>>(0); }\n"
    )
    grammar = convert(Source("a.cu", text), ["a"])
    assert [f.name for f in grammar.functions] == ["far", "near", "a"]
    assert [f.name for f in grammar.functions if f.kernel] == ["a"]
    assert {rule.function for rule in grammar.rules} == {"far", "near", "a"}
    assert grammar.macros == {"CALL"}


def test_what_only_a_comment_names_does_not_evolve() -> None:
    text = (
        "__device__ int value(int n) { return n + 1; }\n"
        "__global__ void k(int *p) {\n  // the value at that place\n  p[0] = 1; /* value */\n}\n"
    )
    grammar = convert(Source("a.cu", text))
    assert [f.name for f in grammar.functions] == ["k"]


def test_includes_are_whole_lines() -> None:
    text = '#include <a>\n# include "b.h" // why\n__global__ void k() {}\n'
    grammar = convert(Source("a.cu", text))
    assert [text[a:b] for a, b in grammar.includes] == [
        "#include <a>\n",
        '# include "b.h" // why\n',
    ]


@pytest.mark.parametrize("kernels", [["missing"], ["k", "host"]])
def test_an_unknown_kernel_lists_those_there_are(kernels: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        names("__global__ void k() {}\n__global__ void l() {}\nvoid host() {}", kernels)
    assert "k, l" in str(caught.value)
    assert kernels[-1] in str(caught.value)


def test_no_kernel() -> None:
    with pytest.raises(UserError, match="no kernel"):
        names("int main() {}")


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"a\0b")
    with pytest.raises(UserError, match="not text"):
        read_source(tmp_path / "a.cu")
    with pytest.raises(UserError, match="cannot read"):
        read_source(tmp_path / "b.cu")


@pytest.mark.parametrize(
    "statement",
    [
        "return;",
        "int x = 1;",
        "T * x;",
        "label: ;",
        "OPENS n = 1; }",
        "LEAVES;",
        "TWO;",
        "BLOCK;",
        "DECLARES(n);",
        "auto f = [&]() { n = 2; };",
        ";",
    ],
)
def test_what_stays_fixed(statement: str) -> None:
    macros = "#define OPENS if (n) {\n#define LEAVES return\n#define TWO n++; n--\n"
    macros += "#define BLOCK { n = 1; }\n#define DECLARES(x) int y = x\n"
    text = f"{macros}__global__ void k(int n) {{\n  {statement}\n}}\n"
    kinds = {rule.type for rule in convert(Source("a.cu", text)).rules}
    assert RuleType.STATEMENT not in kinds - {RuleType.BOUNDS} or statement.startswith("OPENS")


def test_a_conditional_that_cuts_a_construct_is_read_by_its_default_branch() -> None:
    text = (
        "__global__ void k(int *p, int n) {\n#ifdef A\n  if (n) {\n#else\n  if (p) {\n#endif\n"
        "    p[0] = 1;\n  }\n  p[1] =\n#ifdef A\n  2;\n#else\n  3;\n#endif\n  p[2] = 4;\n}\n"
    )
    found = names(text)
    assert "IF_a.cu_5" in found
    assert "IF_a.cu_3" not in found
    assert {"_a.cu_7", "_a.cu_15"} <= set(found)
    assert "_a.cu_9" not in found  # it ends in the branch, and again in the other


def test_pragma_between_a_header_and_its_body() -> None:
    text = (
        "__global__ void k(int *p) {\n  for (int i = 0; i < 3; i++)\n#pragma unroll 2\n"
        "    for (int j = 0; j < 3; j++)\n      p[j] = i;\n}\n"
    )
    grammar = convert(Source("a.cu", text))
    assert grammar.text("pragma_a.cu_3") == "#pragma unroll 2"
    outer, inner = grammar.loops
    assert outer.start < inner.start < inner.end == outer.end


def test_a_branch_with_a_label_stays() -> None:
    text = "__global__ void k(int n) { if (n) n = 1; else { here: n = 2; } if (n) goto here; }"
    assert not any(name.startswith("ELSE") for name in names(text))
    assert any(name.startswith("ELSE") for name in names(text.replace("here: ", "")))


def test_rules_nest_outer_first() -> None:
    for file in SOURCES:
        rules = convert(read_source(file)).rules
        for one, two in pairwise(rules):
            assert (one.start, -one.end) <= (two.start, -two.end)
            assert two.start >= one.end or two.end <= one.end


@st.composite
def mutilated(draw: st.DrawFn) -> str:
    """A test source with bytes cut, swapped, doubled and put in."""
    data = draw(st.sampled_from(SOURCES)).read_bytes()
    for _ in range(draw(st.integers(1, 8))):
        a, b = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        b = min(b, a + draw(st.sampled_from((1, 8, 60, 400))))
        match draw(st.sampled_from(("cut", "swap", "double", "put"))):
            case "cut":
                data = data[:a] + data[b:]
            case "swap":
                data = data[:a] + data[a:b][::-1] + data[b:]
            case "double":
                data = data[:b] + data[a:]
            case "put":
                data = (
                    data[:a]
                    + draw(
                        st.sampled_from(
                            (b"{", b"}", b"(", b'"', b"/*", b"#if 1\n", b"\xff", b"\r", b"\\\n")
                        )
                    )
                    + data[a:]
                )
    return data.decode("utf-8", "surrogateescape")


@given(text=mutilated())
@settings(max_examples=60, deadline=None)
def test_mutilated_sources_do_no_harm(text: str) -> None:
    try:
        grammar = convert(Source("a.cu", text))
    except UserError as error:
        if "no kernel" not in error.what:
            raise
        return
    assert render(grammar, {}) == text
    instrument(grammar)
    view = grammar.under({})
    for place in view.mutable[::7]:
        if grammar.rule(place).type is RuleType.STATEMENT:
            render(grammar, {place: Expansion(body="")}, {})


@pytest.mark.parametrize("depth", [1200])
def test_nesting_however_deep(depth: int) -> None:
    chain = "".join(f"if (n == {k}) p[{k}] = 1; else " for k in range(depth))
    text = f"__global__ void k(int *p, int n) {{ {chain} n = {'(' * depth}1{')' * depth}; }}"
    grammar = convert(Source("a.cu", text))
    assert render(grammar, {}) == text
