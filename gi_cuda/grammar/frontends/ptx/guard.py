"""Guards: counters that end PTX loops which an edit may keep from ending.

A counter is set to zero on every path into its loop, and counts at every jump back to the header.
At its limit the launch traps. (Confined code runs to its end instead, and records that.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gi_cuda.grammar.frontends.cuda.rendering.guard import UNSEEN_LIMIT
from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.flow import Cycle
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.instructions.render import Guards
from gi_cuda.grammar.frontends.instructions.variant import Altered
from gi_cuda.grammar.rule import Loop


def touched(grammar: InstructionGrammar, altered: Altered) -> Iterator[tuple[Loop, Cycle]]:
    """Yield the loops of an altered function that may not end any more.

    These are loops with a changed jump, and loops for which an instruction that writes a control
    register is added, removed or changed.
    """
    body = grammar.bodies[altered.body]
    written, jumps = _changed(body, altered)
    for loop, cycle in loops_in(grammar, altered.body):
        inside = any(
            body.flow.blocks[number].first <= at < body.flow.blocks[number].last
            for number in cycle.blocks
            for at in jumps
        )
        if inside or written & loop.controls:
            yield loop, cycle


def loops_in(grammar: InstructionGrammar, number: int) -> Iterator[tuple[Loop, Cycle]]:
    """Yield the loops of the function with a number."""
    before = sum(len(body.flow.loops) for body in grammar.bodies[:number])
    cycles = grammar.bodies[number].flow.loops
    yield from zip(grammar.loops[before : before + len(cycles)], cycles, strict=True)


def _changed(body: Body, altered: Altered) -> tuple[set[str], set[int]]:
    """Return the registers that changed instructions write, and the changed jumps."""
    written: set[str] = set()
    jumps: set[int] = set()
    for at, found in altered.changes.items():
        original = body.statements[at].instruction
        if all(placed.instruction != original for placed in found):  # gone or changed
            written.update(original.defines)
            if original.jumps:
                jumps.add(at)
        for placed in found:
            if not placed.own:
                written.update(placed.instruction.defines)
    return written, jumps


def guard(body: Body, loops: Iterable[tuple[Loop, Cycle]], limits: Mapping[int, int]) -> Guards:
    """Return the guards that end some loops of a function after ``limits[ident]`` iterations."""
    guards = Guards()
    for loop, cycle in loops:
        count, test = f"%gi_count{loop.ident}", f"%gi_over{loop.ident}"
        guards.declarations.append(f".reg .b32 {count};")
        guards.declarations.append(f".reg .pred {test};")
        limit = limits.get(loop.ident, UNSEEN_LIMIT)
        check = [
            f"add.u32 {count}, {count}, 1;",
            f"setp.ge.u32 {test}, {count}, {limit};",
            f"@{test} trap;",
        ]
        frame(body, cycle, [f"mov.u32 {count}, 0;"], check, guards)
    return guards


def counters(grammar: InstructionGrammar, counter: str) -> Iterator[Guards]:
    """Yield, for each function, the lines that count its loops' iterations in an array.

    Args:
        grammar: the grammar.
        counter: name of the array.
    """
    for number, body in enumerate(grammar.bodies):
        guards = Guards()
        for loop, cycle in loops_in(grammar, number):
            count = f"%gi_count{loop.ident}"
            guards.declarations.append(f".reg .b32 {count};")
            returning = [
                f"add.u32 {count}, {count}, 1;",
                f"red.global.max.u32 [{counter}+{4 * loop.ident}], {count};",
            ]
            frame(body, cycle, [f"mov.u32 {count}, 0;"], returning, guards)
        yield guards


def frame(
    body: Body, cycle: Cycle, entering: list[str], returning: list[str], guards: Guards
) -> None:
    """Add instructions to every path into a loop, and to every jump back to its header."""
    blocks = body.flow.blocks
    header = body.steps[blocks[cycle.header].first].labels[0]
    if cycle.header == 0:
        guards.before_label.setdefault(header, []).extend(entering)
    for number in body.flow.predecessors[cycle.header]:
        lines = returning if number in cycle.latches else entering
        last = body.steps[blocks[number].last - 1].instruction
        if last is not None and last.jumps:
            guards.before.setdefault(blocks[number].last - 1, []).extend(lines)
        else:
            guards.before_label.setdefault(header, []).extend(lines)
