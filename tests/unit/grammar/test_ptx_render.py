"""Rendering of edits of PTX: repaired uses, and loops that end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.genome import Delete, Edit, Genotype, Insert, Replace, Space, expansions, mutate
from gi_cuda.grammar import Expansion, RuleType, Source
from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.instructions.instruction import Label
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.frontends.ptx.render import instrument_ptx, render_ptx
from gi_cuda.search.strategies.barracuda import PAPER

SAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
    if path.stem != "braceless"  # which reads a variable that is not set
]
DELETED = Expansion(body="")

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.entry k()
{
\t.reg .pred \t%p<9>;
\t.reg .b32 \t%r<9>;
"""


def grammar_of(body: str) -> InstructionGrammar:
    """Lines of the body begin with line 1, as those of rules' names do after :func:`changed`."""
    return convert_ptx(Source("k", f"{HEAD}{body}}}\n"))


def changed(body: str, limits: Mapping[int, int] | None = None, **edits: Expansion) -> str:
    """The body after expansions; ``s_1`` is the statement on its line 1, ``b32_2`` an operand."""
    lines = HEAD.count("\n")

    def name(key: str) -> str:
        kind, line = key.split("_")
        first, dot, again = line.partition(".")
        return f"{kind if kind != 's' else ''}_k_{int(first) + lines}{dot}{again}"

    named = {
        name(key): Expansion(tuple(map(name, e.before)), name(e.body) if e.body else e.body)
        for key, e in edits.items()
    }
    text = render_ptx(grammar_of(body), named, limits)
    return text.removeprefix(HEAD).removesuffix("}\n")


STRAIGHT = """\
\tmov.u32 \t%r1, 1;
\tmov.u32 \t%r2, 2;
\tadd.s32 \t%r3, %r1, %r2;
\tst.global.u32 \t[%r3], %r1;
\tret;
"""


def test_a_deleted_instruction_goes_with_its_line() -> None:
    assert changed(STRAIGHT, s_4=DELETED) == STRAIGHT.replace("\tst.global.u32 \t[%r3], %r1;\n", "")


def test_a_copy_stands_before_its_place() -> None:
    after = changed(STRAIGHT, s_4=Expansion(("s_2", "s_1")))
    copies = "\tmov.u32 \t%r2, 2;\n\tmov.u32 \t%r1, 1;\n\tst"
    assert after == STRAIGHT.replace("\tst", copies)


def test_something_may_be_inserted_before_a_jump() -> None:
    after = changed(STRAIGHT, jump_5=Expansion(("s_1",)))
    assert after == STRAIGHT.replace("\tret", "\tmov.u32 \t%r1, 1;\n\tret")


def test_two_replacements_swap() -> None:
    after = changed(STRAIGHT, s_1=Expansion(body="s_2"), s_2=Expansion(body="s_1"))
    first, second, *rest = STRAIGHT.splitlines(keepends=True)
    assert after == "".join([second, first, *rest])


def test_an_operand_gives_way_to_another() -> None:
    after = changed(STRAIGHT, **{"b32_3.2": Expansion(body="b32_3")})
    assert after == STRAIGHT.replace("%r1, %r2;", "%r1, %r1;")
    after = changed(STRAIGHT, imm_1=Expansion(body="imm_2"))
    assert after == STRAIGHT.replace("%r1, 1;", "%r1, 2;")


def test_a_use_whose_definition_is_gone_takes_what_was_written_last() -> None:
    after = changed(STRAIGHT, s_3=DELETED)
    assert after == STRAIGHT.replace("\tadd.s32 \t%r3, %r1, %r2;\n", "").replace("[%r3]", "[%r2]")


def test_a_use_that_comes_to_where_nothing_is_defined_stays() -> None:
    after = changed(STRAIGHT, s_1=Expansion(("s_3",)))
    assert after == "\tadd.s32 \t%r3, %r1, %r2;\n" + STRAIGHT


def test_a_use_that_comes_to_where_its_register_is_not_yet_written_takes_another() -> None:
    after = changed(STRAIGHT, s_2=Expansion(("s_3",)))
    assert after == STRAIGHT.replace(
        "\tmov.u32 \t%r2", "\tadd.s32 \t%r3, %r1, %r1;\n\tmov.u32 \t%r2"
    )


BRANCHES = """\
\tmov.u32 \t%r1, %tid.x;
\tmov.u32 \t%r4, 0;
\tsetp.ne.s32 \t%p1, %r1, 0;
\t@%p1 bra \t$ELSE;

\tmov.u32 \t%r2, 2;
\tbra.uni \t$END;

$ELSE:
\tmov.u32 \t%r2, 3;

$END:
\tst.global.u32 \t[%r1], %r2;
\tret;
"""


def test_a_definition_on_one_way_alone_is_none() -> None:
    after = changed(BRANCHES, s_10=DELETED)
    assert after == BRANCHES.replace("\tmov.u32 \t%r2, 3;\n", "").replace("], %r2", "], %r4")


def test_a_predicate_without_definition_and_without_another_stays() -> None:
    after = changed(BRANCHES, s_3=DELETED)
    assert after == BRANCHES.replace("\tsetp.ne.s32 \t%p1, %r1, 0;\n", "")


LOOP = """\
\tmov.u32 \t%r1, 0;
\tmov.u32 \t%r2, 5;

$TOP:
\tadd.s32 \t%r1, %r1, 1;
\tst.global.u32 \t[%r2], %r1;
\tsetp.lt.s32 \t%p1, %r1, %r2;
\t@%p1 bra \t$TOP;

\tret;
"""


def test_a_loop_whose_control_an_edit_touches_is_guarded() -> None:
    after = changed(LOOP, {0: 10}, s_5=DELETED)
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    assert lines[lines.index("mov.u32 \t%r2, 5;") + 1 :] == [
        "mov.u32 %gi_count0, 0;",
        "$TOP:",
        "st.global.u32 \t[%r2], %r1;",
        "setp.lt.s32 \t%p1, %r1, %r2;",
        "add.u32 %gi_count0, %gi_count0, 1;",
        "setp.ge.u32 %gi_over0, %gi_count0, 10;",
        "@%gi_over0 trap;",
        "@%p1 bra \t$TOP;",
        "ret;",
    ]


@pytest.mark.parametrize("limits", [None, {0: 10}])
def test_other_loops_are_not(limits: dict[int, int] | None) -> None:
    assert "gi_" not in changed(LOOP, limits, s_6=DELETED)


def test_no_guard_without_limits() -> None:
    assert "gi_" not in changed(LOOP, None, s_5=DELETED)


def run(grammar: InstructionGrammar, most: int) -> dict[str, int] | None:
    """Execute the first function, as far as its arithmetic goes; None if that does not end."""
    body: Body = grammar.bodies[0]
    items = body.function.items
    at, values, memory = 0, dict[str, int](), dict[str, int]()
    labels = {one.name: n for n, one in enumerate(items) if isinstance(one, Label)}
    for _ in range(most):
        one = items[at]
        at += 1
        if isinstance(one, Label):
            continue
        text = one.instruction.text.rstrip(";")
        guard = re.match(r"@(!?)(%\w+)\s+", text)
        if guard:
            text = text[guard.end() :]
            if bool(values.get(guard[2], 0)) == bool(guard[1]):
                continue
        opcode, *operands = re.split(r"[\s,]+", text)
        given = [values.get(o, 0) if o[0] == "%" else o for o in operands]
        numbers = [int(g) for g in given if re.fullmatch(r"-?\d+", str(g))]
        match opcode.split("."):
            case ["ret"] | ["trap"]:
                return memory
            case ["bra", *_]:
                at = labels[operands[0]]
            case ["mov", *_]:
                values[operands[0]] = numbers[-1]
            case ["add", *_]:
                values[operands[0]] = numbers[-2] + numbers[-1]
            case ["setp", relation, *_]:
                compare = {"lt": int.__lt__, "ge": int.__ge__, "eq": int.__eq__, "ne": int.__ne__}
                values[operands[0]] = compare[relation](numbers[-2], numbers[-1])
            case ["red", *_]:
                name = operands[0]
                memory[name] = max(memory.get(name, 0), numbers[-1])
            case _:
                assert opcode.startswith("st.")
    return None


NESTED = """\
\tmov.u32 \t%r1, 0;
\tmov.u32 \t%r5, 4;

$OUTER:
\tmov.u32 \t%r2, 0;
\tadd.s32 \t%r6, %r1, 1;

$INNER:
\tadd.s32 \t%r2, %r2, 1;
\tsetp.eq.s32 \t%p3, %r2, 9;
\t@%p3 bra \t$AFTER;
\tst.global.u32 \t[%r6], %r2;
\tsetp.lt.s32 \t%p1, %r2, %r6;
\t@%p1 bra \t$INNER;

$AFTER:
\tadd.s32 \t%r1, %r1, 1;
\tsetp.ge.s32 \t%p2, %r1, %r5;
\t@%p2 bra \t$LAST;
\tbra.uni \t$OUTER;

$LAST:
\tmov.u32 \t%r3, 0;
\tbra.uni \t$TEST;

$WHILE:
\tadd.s32 \t%r3, %r3, 2;

$TEST:
\tsetp.ne.s32 \t%p4, %r3, 10;
\t@%p4 bra \t$WHILE;
\tst.global.u32 \t[%r5], %r3;
\tret;
"""


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_guarded_variants_end(seed: int, number: int) -> None:
    grammar, rng = grammar_of(NESTED), Random(seed)
    edits = _edits(grammar, rng, number)
    text = render_ptx(grammar, expansions(edits), dict.fromkeys(range(3), 12))
    assert run(convert_ptx(Source("v", text)), 20_000) is not None


def test_an_unguarded_variant_need_not_end() -> None:
    grammar = grammar_of(NESTED)
    step = next(rule.name for rule in grammar.rules if grammar.text(rule.name).endswith(", 2;"))
    endless = render_ptx(grammar, {step: DELETED}, None)
    assert run(convert_ptx(Source("v", endless)), 20_000) is None
    ending = render_ptx(grammar, {step: DELETED}, {})
    assert run(convert_ptx(Source("v", ending)), 20_000) is not None


def test_loops_count_how_often_they_turn_back() -> None:
    counted = instrument_ptx(grammar_of(NESTED), "counter")
    grammar = convert_ptx(Source("v", counted))
    assert ".global .align 4 .b8 counter[12];" in counted
    # Four times around outside; at most three more times inside; five times two make ten.
    assert run(grammar, 20_000) == {"[counter+0]": 3, "[counter+4]": 4, "[counter+8]": 5}


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 2**32), st.integers(1, 9))
def test_a_broken_use_is_left_only_where_no_register_of_its_type_is_defined(
    path: Path, seed: int, number: int
) -> None:
    grammar = convert_ptx(Source("k.ptx", path.read_text("utf-8")))
    edits = _edits(grammar, Random(seed), number)
    variant = convert_ptx(Source("k.ptx", render_ptx(grammar, expansions(edits))))
    assert not any(chain(*_broken(variant).values()))


def _edits(grammar: InstructionGrammar, rng: Random, number: int) -> tuple[Edit, ...]:
    genotype = Genotype(Space().default)
    for _ in range(number):
        genotype = mutate(genotype, grammar, rng, replace(PAPER, pairs=0.3)) or genotype
    return genotype.edits


def _broken(grammar: InstructionGrammar) -> dict[str, list[bool]]:
    """Instructions with an undefined use; for each such use, whether another could stand there."""
    found: dict[str, list[bool]] = {}
    for body in grammar.bodies:
        kinds = body.function.registers
        for at, statement in enumerate(body.statements):
            defined = body.flow.defined[at]
            for use in statement.instruction.uses:
                if use.name and not defined & body.bits[use.name]:
                    others = _written(body, at)
                    found.setdefault(statement.instruction.text, []).append(
                        any(
                            kinds[name] is kinds[use.name] and defined & body.bits[name]
                            for name in others
                        )
                    )
    return found


def _written(body: Body, at: int) -> set[str]:
    return {name for one in body.statements[:at] for name in one.instruction.defines}


def test_the_types_of_rules_are_those_of_registers() -> None:
    grammar = grammar_of(LOOP)
    assert {rule.type for rule in grammar.rules} == {
        RuleType.STATEMENT,
        RuleType.JUMP,
        RuleType.B32,
        RuleType.PRED,
        RuleType.IMM,
    }


@pytest.mark.parametrize(
    ("line", "guarded"),
    [
        (2, {0}),  # how often the outer loop may go around
        (5, {1}),  # what the inner loop counts from
        (6, set()),  # an exit of the inner loop depends on it, but not the one that counts
        (12, set()),
        (13, {0, 1}),  # a jump within both takes another predicate
        (17, {0}),
    ],
)
def test_a_loop_that_ends_by_counting_is_guarded_for_its_counter_alone(
    line: int, guarded: set[int]
) -> None:
    after = changed(NESTED, {}, **{f"s_{line}": DELETED})
    assert {int(number) for number in re.findall(r"mov\.u32 %gi_count(\d+)", after)} == guarded


def test_moves_and_swaps_are_drawn_where_they_are_asked_for() -> None:
    grammar, rng = grammar_of(NESTED), Random(5)
    moves = swaps = 0
    for _ in range(200):
        child = mutate(Genotype(Space().default), grammar, rng, replace(PAPER, pairs=1.0))
        assert child is not None
        match child.edits:
            case [Insert(place, donor), Delete(gone)]:
                assert donor == gone != place
                moves += 1
            case [Replace(one, other), Replace(second, first)]:
                assert (one, other) == (first, second)
                swaps += 1
    assert moves + swaps > 150
    assert min(moves, swaps) > 40
