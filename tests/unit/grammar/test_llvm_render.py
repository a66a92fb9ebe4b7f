"""LLVM-IR as a grammar: rules, the effect of edits, repair of broken uses."""

from __future__ import annotations

import re

import pytest

from gi_cuda.grammar import Source, Wanted
from gi_cuda.grammar.frontends.llvm.lines import NOT_TOLD
from gi_cuda.grammar.frontends.llvm.parsed_text import LlvmText, read_llvm
from gi_cuda.grammar.rule import Expansion

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

TEXT = """\
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(3) global [64 x i32] undef, align 4

define ptx_kernel void @k(ptr %arg, i32 %arg1) !dbg !4 {
bb:
  %i = add i32 %arg1, 7
  %i1 = mul i32 %i, 3, !dbg !6
  %i2 = sext i32 %i1 to i64, !dbg !7
  %i3 = getelementptr inbounds i32, ptr %arg, i64 %i2
  switch i32 %i, label %bb5 [
    i32 1, label %bb4
    i32 2, label %bb4
  ]

bb4:                                              ; preds = %bb, %bb
  %i6 = load float, ptr %i3, align 4
  %i7 = fmul float %i6, 2.000000e+00
  store float %i7, ptr %i3, align 4
  br label %bb5

bb5:                                              ; preds = %bb4, %bb
  %i8 = phi i32 [ 0, %bb ], [ %i1, %bb4 ]
  %i9 = shl i32 %i8, 2
  store i32 %i9, ptr %arg, align 4
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.cu", directory: ".")
!2 = !{i32 2, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 3, type: !5, unit: !0)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 5, column: 3, scope: !8, inlinedAt: !7)
!7 = !DILocation(line: 9, column: 1, scope: !4)
!8 = distinct !DISubprogram(name: "f", file: !1, line: 4, type: !5, unit: !0)
"""


@pytest.fixture(scope="module")
def text() -> LlvmText:
    return read_llvm(Source("k.ll", TEXT), Wanted())


def rule(text: LlvmText, beginning: str, use: str = "") -> str:
    """The name of the rule of an instruction, or of an operand of it."""
    line = 1 + TEXT[: TEXT.index(f"\n  {beginning}") + 1].count("\n")
    found = [one.name for one in text.grammar.rules if one.line == line]
    if not use:
        return next(name for name in found if text.grammar.text(name).startswith(beginning))
    return next(name for name in found if text.grammar.text(name) == use)


def changed(text: LlvmText, expansions: dict[str, Expansion]) -> list[str]:
    """The lines of a variant that LLVM takes which are not the original's."""
    made = text.render(expansions)
    module = llvm.parse_assembly(made, context=llvm.create_context())
    module.verify()
    return [line.strip() for line in made.splitlines() if line not in TEXT.splitlines()]


def test_instructions_operands_and_literals_are_rules(text: LlvmText) -> None:
    assert text.render({}) == TEXT
    names = [re.sub(r"_k\.ll_", " ", one.name) for one in text.grammar.rules]
    assert names[:6] == [" 7", "b32 7", "imm 7", " 8", "b32 8", "imm 8"]
    assert {"jump 11", "b32 11", "imm 23", "b32 23", "imm 24"} <= set(names)
    assert " 23" not in names  # a phi stays where it is
    assert [text.grammar.text(f"{kind}_k.ll_23") for kind in ("imm", "b32")] == ["0", "%i1"]


def test_donors_have_the_type_and_dominate(text: LlvmText) -> None:
    grammar = text.grammar
    donors = {grammar.text(name) for name in grammar.donors(rule(text, "%i9", "%i8"))}
    assert donors == {"%arg1", "%i", "%i1"}
    assert {grammar.text(name) for name in grammar.donors("b32_k.ll_23")} == {"%arg1", "%i"}
    literals = {grammar.text(name) for name in grammar.donors(rule(text, "%i = ", "7"))}
    assert literals == {"3", "0"}  # distances of shifts are among themselves


def test_what_read_a_deleted_value_reads_the_last_one_of_its_type(text: LlvmText) -> None:
    assert changed(text, {rule(text, "%i1"): Expansion(body="")}) == [
        "%i2 = sext i32 %i to i64, !dbg !7",
        "%i8 = phi i32 [ 0, %bb ], [ %i, %bb4 ]",
    ]


def test_where_no_value_of_the_type_is_there_zero_is_read(text: LlvmText) -> None:
    assert changed(text, {rule(text, "%i2"): Expansion(body="")}) == [
        "%i3 = getelementptr inbounds i32, ptr %arg, i64 zeroinitializer"
    ]


def test_a_copy_gets_a_name_and_the_next_reader_of_its_type_reads_it(text: LlvmText) -> None:
    copied = {rule(text, "%i9"): Expansion(before=(rule(text, "%i1"),))}
    assert changed(text, copied) == [
        "%gi.10.0 = mul i32 %i, 3, !dbg !6",
        "%i9 = shl i32 %gi.10.0, 2",
    ]


def test_a_replacement_of_the_same_type_takes_over_the_name(text: LlvmText) -> None:
    replaced = {rule(text, "%i1"): Expansion(body=rule(text, "%i9"))}
    assert changed(text, replaced) == ["%i1 = shl i32 %i, 2"]


def test_a_moved_instruction_keeps_its_name(text: LlvmText) -> None:
    one = rule(text, "%i2")
    moved = {rule(text, "ret"): Expansion(before=(one,)), one: Expansion(body="")}
    lines = changed(text, moved)
    assert lines == ["%i3 = getelementptr inbounds i32, ptr %arg, i64 zeroinitializer"]
    assert "%i2 = sext i32 %i1 to i64, !dbg !7\n  ret void" in text.render(moved)


def test_two_instructions_swap(text: LlvmText) -> None:
    first, second = rule(text, "%i = "), rule(text, "%i1")
    lines = changed(text, {first: Expansion(body=second), second: Expansion(body=first)})
    assert "%i1 = mul i32 %arg1, 3, !dbg !6" in lines


def test_an_instruction_tells_its_lines_and_where_it_was_inlined(text: LlvmText) -> None:
    found = text.instructions()
    assert str(found[rule(text, "%i1")].origin) == "k.cu:5, inlined at k.cu:9"
    assert found[rule(text, "%i = ")].origin.reason == NOT_TOLD


def test_a_mark_counts_in_a_variable_of_the_reference(text: LlvmText) -> None:
    lines = text.mark("b32_k.ll_23").splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip().startswith("store volatile"))
    assert "phi" in lines[at - 1]
    assert "@_ZN2v012gi_loop_mostE = addrspace(1) global i32 0, align 4" in lines
