"""Reading PTX: every instruction, with the registers that it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype, Space, mutate, read_genotype
from gi_cuda.grammar import Operation, RuleType, Source, write_bnf
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.frontends.ptx.operands import read_instruction
from gi_cuda.grammar.frontends.ptx.render import render_ptx
from gi_cuda.grammar.notation.bnf import lay_out, read_bnf
from gi_cuda.grammar.rule_types import OPERAND_TYPES
from gi_cuda.grammar.source import LineIndex
from gi_cuda.search.strategies.barracuda import PAPER

SAMPLES = sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
REGISTERS = {
    **{f"%r{n}": RuleType.B32 for n in range(9)},
    **{f"%rd{n}": RuleType.B64 for n in range(9)},
    **{f"%f{n}": RuleType.F32 for n in range(9)},
    **{f"%p{n}": RuleType.PRED for n in range(9)},
}


def grammar_of(path: Path) -> InstructionGrammar:
    return convert_ptx(Source(path.name, path.read_text("utf-8")))


def module(body: str, declared: str = ".reg .pred %p<9>; .reg .b32 %r<9>;") -> InstructionGrammar:
    text = (
        f".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n{declared}\n{body}\n}}\n"
    )
    return convert_ptx(Source("k.ptx", text))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_nvcc_makes_is_read_whole_and_given_back_byte_for_byte(path: Path) -> None:
    grammar = grammar_of(path)
    assert render_ptx(grammar, {}) == grammar.source.text
    whole = {RuleType.STATEMENT, RuleType.JUMP}
    assert {rule.type for rule in grammar.rules} <= OPERAND_TYPES | whole
    assert len({rule.name for rule in grammar.rules}) == len(grammar.rules)
    found = {rule.line for rule in grammar.rules if rule.type in _WHOLE}
    lines = LineIndex(grammar.source)
    spans = [(body.function.start, body.function.end) for body in grammar.bodies]
    inside = {n for a, b in spans for n in range(lines.at(a).line, lines.at(b).line)}
    assert set(_instructions(grammar.source.text)) & inside == found


_WHOLE = (RuleType.STATEMENT, RuleType.JUMP)


def _instructions(text: str) -> Iterator[int]:
    """The lines that hold an instruction, but for those in a call's or inline assembly's block."""
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("//")[0].strip()
        depth += code.count("{") - code.count("}") if code in ("{", "}") else 0
        if depth == 1 and code.endswith(";") and (code[0] == "@" or code[0].islower()):
            yield number


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_nearly_all_that_nvcc_reads_is_defined_on_every_way(path: Path) -> None:
    undefined = [
        use
        for body in grammar_of(path).bodies
        for at, statement in enumerate(body.statements)
        for use in statement.instruction.uses
        if use.name and not body.flow.defined[at] & body.bits[use.name]
    ]
    assert len(undefined) <= (path.stem == "braceless")  # which reads a variable that is not set


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("add.s32 \t%r1, %r2, -3;", "%r1", "%r2 -3"),
        ("mov.u32 %r1, %tid.x;", "%r1", ""),
        ("@!%p1 st.global.v2.u32 [%rd1+8], {%r1, %r2};", "", "%p1 %rd1 %r1 %r2"),
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", "%f1 %f2 %f3 %f4", "%rd1"),
        ("shfl.sync.down.b32 %r1|%p2, %r3, %r4, %r5, -1;", "%r1 %p2", "%r3 %r4 %r5"),
        ("setp.lt.and.s32 %p1|%p2, %r1, 7, !%p3;", "%p1 %p2", "%r1 7 %p3"),
        ("atom.global.cas.b32 %r1, [%rd2], %r3, %r4;", "%r1", "%rd2 %r3 %r4"),
        ("red.global.add.u32 [%rd1], %r2;", "", "%rd1 %r2"),
        ("bar.sync 0;", "", ""),
        ("bar.sync %r1, %r2;", "", "%r1 %r2"),
        ("barrier.cta.red.popc.u32 %r1, 0, %p1;", "%r1", "%p1"),
        ("@%p1 bra $L1;", "", "%p1"),
        ("shl.b32 %r1, %r2, 4;", "%r1", "%r2 4"),
        ("fma.rn.f32 %f1, %f2, 0f3F800000, %f3;", "%f1", "%f2 0f3F800000 %f3"),
        ("call.uni (%r1), f, (%r2, %rd3);", "%r1", "%r1 %r2 %rd3"),
        ("ld.param.u64 %rd1, [k_param_0];", "%rd1", ""),
        ("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1,%r2}];", "%f1 %f2 %f3 %f4", "%r1 %r2"),
        ("tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];", "%r1 %r2 %r3 %r4", "%rd1 %r5"),
    ],
)
def test_what_an_instruction_writes_and_reads(text: str, writes: str, reads: str) -> None:
    instruction = read_instruction(text, REGISTERS)
    assert instruction is not None
    assert " ".join(instruction.defines) == writes
    assert " ".join(text[use.start : use.end] for use in instruction.uses) == reads


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("add.s32 %r1, 1, -2;", ["integer32", "integer32"]),
        ("shl.b64 %rd1, %rd2, 3;", ["shift64"]),
        ("setp.eq.s16 %p1, %r1, 0x7F;", ["integer16"]),
        ("mov.f32 %f1, 0f00000000;", ["fractionf"]),
        ("add.f64 %f1, %f1, 0d3FF0000000000000;", ["fractiond"]),
        ("bfe.u32 %r1, %r2, 3, 5;", []),
        ("st.global.u32 [%rd1], 1;", []),
        ("mov.u64 %rd1, table;", []),
    ],
)
def test_literals_that_may_be_exchanged_have_a_kind(text: str, kinds: list[str]) -> None:
    instruction = read_instruction(text, REGISTERS)
    assert instruction is not None
    assert [use.literal for use in instruction.uses if not use.name] == kinds


def test_calls_declarations_labels_and_blocks_within_the_body_are_fixed() -> None:
    grammar = module(
        "mov.u32 %r1, 1;\n{ // callseq 0\n.reg .b32 t;\n.param .b32 p0;\nst.param.b32 [p0], %r1;\n"
        "call.uni\nf,\n(p0\n);\n}\n$L1:\n@%p1 bra $L1;\nret;"
    )
    assert [rule.name for rule in grammar.rules] == [
        "_k.ptx_7",
        "imm_k.ptx_7",
        "jump_k.ptx_18",
        "pred_k.ptx_18",
        "jump_k.ptx_19",
    ]


def test_operands_take_what_is_defined_on_every_way_and_of_their_type() -> None:
    grammar = module(
        "mov.u32 %r1, 1;\nsetp.lt.s32 %p1, %r1, 2;\n@%p1 bra $L1;\n"
        "mov.u32 %r2, %r1;\nmov.u32 %r3, %r2;\n$L1:\nadd.s32 %r4, %r1, %r1;\nret;"
    )
    assert grammar.donors("b32_k.ptx_11") == ("b32_k.ptx_8",)
    assert grammar.operations("b32_k.ptx_13") == ()  # only one way writes %r2
    assert grammar.donors("imm_k.ptx_7") == ("imm_k.ptx_8",)
    assert grammar.operations("pred_k.ptx_9") == ()
    assert grammar.operations("jump_k.ptx_9") == (Operation.INSERT,)
    assert grammar.operations("_k.ptx_7") == (
        Operation.DELETE,
        Operation.REPLACE,
        Operation.INSERT,
    )


def test_functions_that_a_kernel_calls_evolve_unless_that_is_ruled_out() -> None:
    text = (Path(SAMPLES[0]).parent / "pointers.ptx").read_text("utf-8")
    text += ".func f()\n{\nret;\n}\n.entry g()\n{\ncall f;\nret;\n}\n"
    source = Source("p.ptx", text)
    names = [body.function.name for body in convert_ptx(source, ["g"]).bodies]
    assert names == ["f", "g"]
    assert [body.function.name for body in convert_ptx(source, ["g"], ()).bodies] == ["g"]


def test_tables_of_indirect_branches_lead_on() -> None:
    grammar = module(
        "mov.u32 %r1, %tid.x;\nts: .branchtargets $L1, $L2;\nbrx.idx %r1, ts;\n"
        "$L1:\nmov.u32 %r2, 1;\n$L2:\nmov.u32 %r3, %r2;\nret;"
    )
    assert "b32_k.ptx_9" not in grammar  # where an indirect branch leads is not changed
    body = grammar.bodies[0]
    assert not body.flow.defined[3] & body.bits["%r2"]


@pytest.mark.parametrize(
    ("text", "kernels", "message"),
    [
        (".version 8.0\n", None, "the PTX has no kernel"),
        (".entry k()\n{\nret;\n}\n", ["other"], "the PTX has no kernel other"),
    ],
)
def test_without_kernels_there_is_no_grammar(
    text: str, kernels: list[str] | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        convert_ptx(Source("k.ptx", text), kernels)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_mutilated_text_is_read_and_given_back(path: Path, data: st.DataObject) -> None:
    text = path.read_text("utf-8")
    start = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.sampled_from(["", "{", "}", ";", '"', "/*", "%r<", "@", ".reg", "é:"]))
    text = text[:start] + junk + text[start + data.draw(st.integers(0, 99)) :]
    try:
        grammar = convert_ptx(Source("m.ptx", text))
    except UserError:
        return
    assert render_ptx(grammar, {}) == text
    for rule in grammar.rules:
        grammar.operations(rule.name)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 2**32), st.integers(1, 9))
def test_genotypes_survive_their_notation(path: Path, seed: int, number: int) -> None:
    grammar, rng = grammar_of(path), Random(seed)
    genotype = Genotype(Space().default)
    for _ in range(number):
        genotype = mutate(genotype, grammar, rng, replace(PAPER, pairs=0.5)) or genotype
    assert read_genotype(str(genotype), Space(), grammar) == genotype


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_productions_make_up_the_text(path: Path) -> None:
    grammar = grammar_of(path)
    found = read_bnf(write_bnf(grammar), "k.bnf")
    spans = {name: (start, end) for name, start, end in lay_out(found, grammar.source, "k.bnf")}
    assert all(spans[rule.name] == (rule.start, rule.end) for rule in grammar.rules)
