"""Descriptions of changes of PTX, with lines of source."""

from __future__ import annotations

import pytest

from gi_cuda.analyze.explain.quotes import in_words, numbered
from gi_cuda.genome import EDIT_KINDS, Change, Delete, Edit, Insert, Replace
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.source import FileSpan

BODY = """\
.version 8.0
.target sm_80
.address_size 64
.entry k()
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, 7;
add.u32 %r3, %r1, %r2;
mul.lo.u32 %r4, %r3, 5;
setp.eq.u32 %p1, %r3, %r4;
@%p1 bra $L;
add.u32 %r4, %r4, 1;
$L:
ret;
}
"""
FIRST, SECOND, ADD, JUMP = "_k.ptx_8", "_k.ptx_9", "_k.ptx_10", "jump_k.ptx_13"


@pytest.fixture(scope="module")
def grammar() -> InstructionGrammar:
    return convert_ptx(Source("k.ptx", BODY))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([Delete(ADD)], ["deletes an instruction"]),
        ([Replace(ADD, FIRST)], ["replaces an instruction by a copy of another one"]),
        ([Insert(ADD, FIRST)], ["copies an instruction before another one"]),
        ([Insert(JUMP, FIRST)], ["copies an instruction before a jump"]),
        (
            [Insert(ADD, FIRST), Delete(SECOND), Delete(FIRST)],
            [
                "moves an instruction before another one, with change 3",
                "deletes an instruction",
                "moves an instruction away, with change 1",
            ],
        ),
        (
            [Replace(FIRST, ADD), Replace(ADD, FIRST)],
            [
                "swaps two instructions, with change 2",
                "swaps two instructions, with change 1",
            ],
        ),
        (
            [Replace("b32_k.ptx_10", "b32_k.ptx_10.2")],
            ["replaces an operand, a 32-bit register: %r1 becomes %r2"],
        ),
        ([Replace("imm_k.ptx_11", "imm_k.ptx_9")], ["replaces an operand, a literal: 5 becomes 7"]),
        (
            [Replace("pred_k.ptx_13", "pred_k.ptx_13")],
            ["replaces an operand, a predicate: %p1 becomes %p1"],
        ),
    ],
)
def test_changes_in_words(
    grammar: InstructionGrammar, changes: list[Change], said: list[str]
) -> None:
    numbers = range(len(changes))
    assert [in_words(grammar, tuple(changes), number) for number in numbers] == said


@pytest.mark.parametrize("kind", EDIT_KINDS)
def test_every_kind_of_edit_is_spoken_of(grammar: InstructionGrammar, kind: type[Edit]) -> None:
    rules = (ADD,) if kind.operator is None else (ADD, FIRST)
    assert "instruction" in in_words(grammar, (kind(*rules),), 0)
    assert len(kind.words.roles) == len(rules)


def test_lines_are_numbered_as_in_their_files() -> None:
    text = 'a\n#include "b.h"\n#line 1 "b.h"\nx\r\ny\n#line 3 "k.cu"\nc\nd'
    header, rest = text.index("x"), text.index("c\n")
    marker, after = text.index("#line 1"), text.index("#line 3")
    parts = (
        FileSpan("k.cu", 1, 0, marker),
        FileSpan("b.h", 1, header, after),
        FileSpan("k.cu", 3, rest, len(text)),
    )
    found = numbered(Source("k.cu", text, parts))
    assert found["k.cu"] == {1: "a", 2: '#include "b.h"', 3: "c", 4: "d"}
    assert found["b.h"] == {1: "x", 2: "y"}
