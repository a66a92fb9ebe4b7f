"""Rendering of each kind of edit; all other text stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.grammar import (
    Expansion,
    Grammar,
    Operation,
    Source,
    View,
    convert,
    instrument,
    read_source,
    render,
    touched_loops,
)
from gi_cuda.grammar.frontends.cuda.text.reading import is_balanced, read
from gi_cuda.grammar.presence import read_presence

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))
DELETED = Expansion(body="")


def kernel(body: str, head: str = "__global__ void k(int *p, int n)") -> Grammar:
    return convert(Source("k.cu", f"{head} {{\n{body}\n}}\n"))


def body_of(text: str) -> str:
    return text[text.index("{\n") + 2 : text.rindex("\n}\n")]


def changed(body: str, limits: dict[int, int] | None = None, **expansions: Expansion) -> str:
    """The body after expansions; a rule is given as its type and line in the body."""
    grammar = kernel(body)
    named = {}
    for key, expansion in expansions.items():
        kind, line = key.rsplit("_", 1)
        name = f"{kind if kind != 's' else ''}_k.cu_{int(line) + 1}"
        named[name] = expansion
    return body_of(render(grammar, named, limits))


def test_a_statement_with_a_line_for_itself_goes_with_it() -> None:
    assert changed("  p[0] = 1; // one\n  p[1] = 2;", s_1=DELETED) == "  p[1] = 2;"


def test_a_statement_of_several_lines_goes_with_them() -> None:
    assert changed("  p[0] =\n    1;\n  p[1] = 2;", s_1=DELETED) == "  p[1] = 2;"


def test_a_statement_that_shares_its_line_leaves_the_rest() -> None:
    assert changed("  p[0] = 1; p[1] = 2;", s_1=DELETED) == "   p[1] = 2;"


def test_a_body_without_braces_is_deleted_to_a_semicolon() -> None:
    assert changed("  if (n)\n    p[0] = 1;", s_2=DELETED) == "  if (n)\n    ;"


def test_inserting_before_a_body_without_braces_adds_them() -> None:
    after = changed("  if (n)\n    p[0] = 1;\n  p[1] = 2;", s_2=Expansion(before=("_k.cu_4",)))
    assert after.startswith("  if (n)\n    { p[1] = 2; p[0] = 1; }\n")


def test_an_inserted_statement_has_a_line_and_the_indentation_of_the_place() -> None:
    after = changed("\t\tp[0] = 1;\n\tp[1] = 2;", s_1=Expansion(before=("_k.cu_3",)))
    assert after == "\t\tp[1] = 2;\n\t\tp[0] = 1;\n\tp[1] = 2;"


def test_inserted_lines_end_as_the_file_does() -> None:
    grammar = convert(
        Source("k.cu", "__global__ void k(int *p) {\r\n p[0] = 1;\r\n p[1] = 2;\r\n}\r\n")
    )
    text = render(grammar, {"_k.cu_2": Expansion(before=("_k.cu_3",))})
    assert text.count("\r\n") == text.count("\n") == 5


def test_several_donors_come_in_order_before_what_stays() -> None:
    donors = Expansion(before=("_k.cu_3", "_k.cu_4"))
    after = changed("p[0] = 1;\np[1] = 2;\np[2] = 3;", s_1=donors)
    assert after == "p[1] = 2;\np[2] = 3;\np[0] = 1;\np[1] = 2;\np[2] = 3;"


def test_a_donor_before_a_deleted_statement_takes_its_place() -> None:
    after = changed("p[0] = 1;\np[1] = 2;", s_1=Expansion(before=("_k.cu_3",), body=""))
    assert after == "p[1] = 2;\np[1] = 2;"


def test_conditions() -> None:
    body = "if (n > 1 || n < 0) p[0] = 1;\nif (p[1]) p[1] = 2;"
    assert "if (0) p[0]" in changed(body, IF_1=DELETED)
    assert "if (p[1]) p[0]" in changed(body, IF_1=Expansion(body="IF_k.cu_3"))
    inserted = changed(body, IF_1=Expansion(before=("IF_k.cu_3",)))
    assert "if ((p[1]) && (n > 1 || n < 0)) p[0]" in inserted


def test_loop_headers() -> None:
    body = "int i, j;\nfor (i = 0; i < n; i++) p[i] = 1;\n"
    body += "for (i = 1, j = 2; i < j; i += 2, j--) p[i] = 2;"
    assert "for (i = 0; ; i++)" in changed(body, for2_2=DELETED)
    assert "for (i = 1, j = 2, i = 0;" in changed(body, for1_2=Expansion(before=("for1_k.cu_4",)))
    assert "(i < j) && (i < n);" in changed(body, for2_2=Expansion(before=("for2_k.cu_4",)))
    assert "i < n; i += 2, j--)" in changed(body, for3_2=Expansion(body="for3_k.cu_4"))


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("if (n) { p[0] = 1; } else { p[1] = 2; }", "if (n) { p[0] = 1; }"),
        ("if (n)\n  p[0] = 1;\nelse\n  p[1] = 2;", "if (n)\n  p[0] = 1;"),
        ("if (n) {\n}\nelse\n{\n}\np[0] = 1;", "if (n) {\n}\np[0] = 1;"),
    ],
)
def test_else_goes_without_a_trace(body: str, after: str) -> None:
    line = next(k for k, text in enumerate(body.split("\n"), 1) if "else" in text)
    assert changed(body, **{f"ELSE_{line}": DELETED}) == after


def test_an_inner_else_is_not_lost_to_an_outer_if() -> None:
    body = "if (n) if (p[0]) p[1] = 1;\nelse p[2] = 2;\nelse p[3] = 3;"
    assert changed(body, ELSE_2=DELETED) == body.replace("else p[2] = 2;", "else ;")


def test_pragmas() -> None:
    body = "  for (int i = 0; i < n; i++) p[i] = 1;"
    assert changed(body, pragma_1=Expansion(body="pragma_K4")) == "  #pragma unroll 4\n" + body
    body = "#pragma unroll\n" + body
    assert changed(body, pragma_1=Expansion(body="pragma_K4")).startswith("#pragma unroll 4\n  for")
    assert changed(body, pragma_1=DELETED) == body.split("\n")[1]
    body = "if (n) for (int i = 0; i < n; i++) p[i] = 1;"
    assert changed(body, pragma_1=Expansion(body="pragma_K")).startswith(
        "if (n) \n#pragma unroll\nfor"
    )


def test_heads() -> None:
    grammar = kernel("p[0] = 1;", "__global__ void k(int *p, const float* q, int n, int *)")
    on = render(grammar, {"optrestrict_k.cu_1": Expansion(body="optrestrict_K")})
    assert on.startswith(
        "__global__ void k(int * __restrict__ p, const float* __restrict__ q, int n"
    )
    off = convert(Source("k.cu", on))
    assert render(off, {"optrestrict_k.cu_1": DELETED}).startswith(
        "__global__ void k(int * p, const float* q, int n"
    )
    fixed = kernel("p[0] = *q;", "__global__ void k(int * const p, const int *const q)")
    assert render(fixed, {"optrestrict_k.cu_1": Expansion(body="optrestrict_K")}).startswith(
        "__global__ void k(int * __restrict__ const p, const int * __restrict__ const q"
    )
    bounds = render(grammar, {"launchbounds_k.cu_1": Expansion(body="launchbounds_K128")})
    assert bounds.startswith("__global__ __launch_bounds__(128) void k(")
    bounded = convert(Source("k.cu", bounds))
    assert render(bounded, {"launchbounds_k.cu_1": DELETED}) == grammar.source.text


def test_a_touched_loop_is_guarded() -> None:
    body = "for (int i = 0; i < n; i++) {\n  p[i] = 1;\n  i++;\n}\nwhile (n) n--;\n"
    body += "do n++; while (n < 9);"
    limits = {0: 7, 1: 8, 2: 9}
    first, second, third = (f"(gi_guard_{k}++ < {limits[k]} || gi_late())" for k in limits)
    assert "gi_guard" not in changed(body, limits, s_2=DELETED)
    after = changed(body, limits, s_3=DELETED)
    assert (
        f"{{ unsigned gi_guard_0 = gi_begin(); for (int i = 0; (i < n) && {first}; i++) {{" in after
    )
    assert after.count("gi_guard") == 2
    after = changed(body, limits, for2_1=DELETED)
    assert f"for (int i = 0; {first}; i++)" in after
    assert f"while ((n) && {second}) ; }}" in changed(body, limits, s_5=DELETED)
    assert f"do ; while ((n < 9) && {third}); }}" in changed(body, limits, s_6=DELETED)
    assert "gi_guard" not in changed(body, None, s_3=DELETED, for2_1=DELETED)


def test_guards_and_pragmas_keep_clear_of_each_other() -> None:
    header = "  for (int i = 0; i < n; ) p[i] = 1;"
    unroll = Expansion(body="pragma_K4")
    after = changed(header, {}, pragma_1=unroll, for2_1=DELETED)
    assert after.startswith("  { unsigned gi_guard_0 = gi_begin();\n#pragma unroll 4\n  for (")
    for indentation in ("", "  ", "\t"):
        body = f"{indentation}#pragma unroll\n{header}"
        after = changed(body, {}, pragma_1=DELETED, for2_2=DELETED)
        assert "#" not in after
        assert re.match(r"[ \t]*\{ unsigned gi_guard_0 = gi_begin\(\); +for \(", after)
        after = changed(body, {}, pragma_1=unroll, for2_2=DELETED)
        assert "gi_guard_0 = gi_begin();\n#pragma unroll 4\n  for (" in after


def test_a_donor_that_assigns_the_control_variable_touches_the_loop() -> None:
    grammar = kernel("int i;\nfor (i = 0; i < n; i++) {\n  p[i] = 1;\n}\ni = 0;")
    assert touched_loops(grammar, {"_k.cu_4": Expansion(body="_k.cu_6")}) == {0}
    assert touched_loops(grammar, {"_k.cu_6": Expansion(body="_k.cu_4")}) == frozenset()


def test_what_a_control_variable_is_computed_from_counts() -> None:
    body = "int lo = 0, mid = 0;\nwhile (lo < n) {\n  mid = (lo + n) / 2;\n"
    body += "  if (p[mid]) lo = mid + 1;\n  else n = mid;\n}"
    grammar = kernel(body)
    for rule in ("_k.cu_4", "IF_k.cu_5", "_k.cu_5", "ELSE_k.cu_6", "_k.cu_6"):
        assert touched_loops(grammar, {rule: DELETED}) == {0}, rule


def test_a_loop_that_only_a_break_ends() -> None:
    grammar = kernel("for (;;) {\n  n++;\n  if (n > 9) break;\n  p[1] = 2;\n}")
    assert touched_loops(grammar, {"IF_k.cu_4": DELETED}) == {0}
    assert touched_loops(grammar, {"_k.cu_3": DELETED}) == {0}
    assert touched_loops(grammar, {"_k.cu_5": DELETED}) == frozenset()


def test_edits_inside_a_deleted_branch_go_with_it() -> None:
    body = "if (n) p[0] = 1;\nelse for (int i = 0; i < n; i++) { i = 2; p[i] = 3; }\np[4] = 5;"
    both = changed(body, {0: 3}, ELSE_2=DELETED, for2_2=DELETED, s_2=DELETED)
    assert both == changed(body, {0: 3}, ELSE_2=DELETED)


def test_instrumented_loops_count() -> None:
    text = instrument(kernel("for (;;) { if (n--) break; }\nwhile (n < 3) n++;"))
    assert "for (;gi_loop(0u, ++gi_count_0);)" in text.replace("; ;", ";;").replace("( ;", "(;")
    assert "while ((n < 3) && gi_loop(1u, ++gi_count_1)) n++; }" in text


def balanced(text: str) -> bool:
    return is_balanced(read(text, read_presence(text)).bare)


def edits(view: View) -> Iterator[tuple[str, Expansion]]:
    """Every deletion, and with each donor every replacement and insertion (a few donors each)."""
    for place in view.mutable:
        donors = view.donors(place)
        for operation in view.operations(place):
            if operation is Operation.DELETE:
                yield place, DELETED
            else:
                for donor in donors[:: max(1, len(donors) // 4)]:
                    yield (
                        place,
                        (
                            Expansion(body=donor)
                            if operation is Operation.REPLACE
                            else Expansion(before=(donor,))
                        ),
                    )


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_every_edit_keeps_brackets_and_conditionals_in_balance(file: Path) -> None:
    grammar = convert(read_source(file))
    whole = balanced(grammar.source.text)
    limits = {loop.ident: 5 for loop in grammar.loops}
    view = grammar.under({})
    for place, expansion in edits(view):
        text = render(grammar, {place: expansion}, limits)
        assert balanced(text) == whole, (place, expansion)
        assert not expansion.before or grammar.text(expansion.before[0])[:5] in text
        if expansion.body is not None and place not in view.donors(place):
            assert text != grammar.source.text or grammar.text(place) == grammar.text(
                expansion.body or place
            ), (place, expansion)


@given(data=st.data(), file=st.sampled_from(SOURCES))
@settings(max_examples=30, deadline=None)
def test_many_edits_at_once_stay_in_balance(data: st.DataObject, file: Path) -> None:
    grammar = convert(read_source(file))
    found = dict(data.draw(st.lists(st.sampled_from(list(edits(grammar.under({})))), max_size=8)))
    text = render(grammar, found, {})
    assert balanced(text) == balanced(grammar.source.text)
    opened = re.findall(r"unsigned gi_guard_\d+ = gi_begin\(\);", text)
    assert len(re.findall(r"gi_guard_\d+\+\+ < ", text)) == len(opened)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_no_edit_is_the_file_itself(file: Path) -> None:
    source = read_source(file)
    rendered = render(convert(source), {}, {})
    assert rendered.encode("utf-8", "surrogateescape") == file.read_bytes()
