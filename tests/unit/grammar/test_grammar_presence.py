"""Conditional compilation, read and evaluated without a preprocessor."""

from __future__ import annotations

import pytest

from gi_cuda.grammar.presence import ANY, read_presence


def lines_compiled(text: str, **macros: str) -> set[str]:
    """The letters that stand alone on a line and are compiled."""
    presence = read_presence(text)
    active = presence.active(macros)
    found, at = set(), 0
    for line in text.splitlines(keepends=True):
        if line.strip().isalpha() and active[presence.region(at)]:
            found.add(line.strip())
        at += len(line)
    return found


@pytest.mark.parametrize(
    ("macros", "expected"),
    [({}, "cz"), ({"A": "1"}, "az"), ({"B": "3"}, "bz"), ({"A": "0", "B": "2"}, "cz")],
)
def test_chains(macros: dict[str, str], expected: str) -> None:
    text = "#if A\na\n#elif B > 2\nb\n#else\nc\n#endif\nz\n"
    assert lines_compiled(text, **macros) == set(expected)


def test_defaults_of_the_source_count_from_where_they_stand() -> None:
    text = "#if W\na\n#endif\n"
    text += "#ifndef W\n#define W 4\n#endif\n"
    text += "#if W == 4\nb\n#endif\n#undef W\n#ifdef W\nc\n#endif\n"
    assert lines_compiled(text) == {"b"}
    assert lines_compiled(text, W="2") == {"a"}


def test_nested_branches_need_the_outer_one() -> None:
    text = "#ifdef A\n#ifdef B\nx\n#else\ny\n#endif\n#endif\n"
    assert lines_compiled(text) == set()
    assert lines_compiled(text, A="") == {"y"}
    assert lines_compiled(text, A="", B="") == {"x"}
    assert lines_compiled(text, B="") == set()


def test_what_cannot_be_told_counts_as_true_on_both_sides() -> None:
    text = "#if __CUDA_ARCH__ >= 700\na\n#else\nb\n#endif\n"
    assert lines_compiled(text) == {"a", "b"}
    text = "#define F(x) x\n#if F(2) > 1\nc\n#else\nd\n#endif\n"
    assert lines_compiled(text) == {"c", "d"}


def test_the_unknown_does_not_matter_where_it_does_not_decide() -> None:
    text = "#if defined(A) && __CUDA_ARCH__ >= 700\na\n#else\nb\n#endif\n"
    assert lines_compiled(text) == {"b"}


def test_macros_in_terms_of_macros() -> None:
    text = "#define TWICE (2 * W)\n#if TWICE == 8 && defined W && !defined(V)\na\n#endif\n"
    assert lines_compiled(text, W="4") == {"a"}
    assert lines_compiled(text, W="3") == set()


@pytest.mark.parametrize(
    "text",
    [
        "/*\n#if 0\n*/\nx\n",
        'auto s = R"q(\n#if 0\n)q";\nx\n',
        "// \\\n#if 0\nx\n",
        "#if 0 /*\n#else\n*/\n#else\nx\n#endif\n",
        "#define A \\\n 1\n#if A\nx\n#endif\n",
        "#if 0 // not\\\n still\n#else\nx\n#endif\n",
        "#endif\n#else\nx\n",
        "  #  if 0\n#\n# else\nx\n#endif\n",
    ],
)
def test_directives_are_where_the_preprocessor_sees_them(text: str) -> None:
    assert lines_compiled(text) == {"x"}


def test_a_span_is_whole_when_its_conditionals_close() -> None:
    text = "a\n#if A\nb\n#else\nc\n#endif\nd\n"
    presence = read_presence(text)
    assert presence.is_whole(0, len(text))
    assert presence.is_whole(text.index("b"), text.index("b") + 1)
    assert not presence.is_whole(0, text.index("b"))
    assert not presence.is_whole(text.index("b"), text.index("c"))
    assert not presence.is_whole(text.index("c"), len(text))


def test_a_macro_that_may_have_any_value_leaves_both_branches() -> None:
    text = "#ifdef N\na\n#else\nb\n#endif\n"
    text += "#if N > 4 && !M\nc\n#elif N > 2\nd\n#else\ne\n#endif\n"
    text += "#if M\nf\n#endif\n"
    assert lines_compiled(text, N=ANY) == set("abcde")
    assert lines_compiled(text, N=ANY, M="1") == set("abdef")


def test_a_default_does_not_settle_what_may_have_any_value() -> None:
    text = "#ifndef N\n#define N 4\n#endif\n#if N == 4\na\n#else\nb\n#endif\n#undef N\n"
    text += "#ifdef N\nc\n#endif\n"
    assert lines_compiled(text, N=ANY) == set("abc")
