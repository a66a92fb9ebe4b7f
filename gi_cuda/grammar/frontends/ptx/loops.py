"""The loops of PTX functions, and what decides how long they go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gi_cuda.grammar.frontends.instructions.flow import Cycle
from gi_cuda.grammar.frontends.instructions.instruction import Instruction
from gi_cuda.grammar.rule import Loop
from gi_cuda.grammar.source import LineIndex

if TYPE_CHECKING:
    from gi_cuda.grammar.frontends.instructions.body import Body

_BETWEEN_THREADS = frozenset({"shfl", "vote", "match", "activemask", "redux", "call", "elect"})


def loops_of(bodies: Iterable[Body], lines: LineIndex) -> Iterator[Loop]:
    """The loops of functions, numbered through, those of a function in the order of its text."""
    ident = 0
    for body in bodies:
        for cycle in body.flow.loops:
            spans = [body.statements[k] for number in cycle.blocks for k in _span(body, number)]
            start, end = min(one.start for one in spans), max(one.end for one in spans)
            nothing = frozenset[str]()
            yield Loop(
                ident,
                lines.at(start).line,
                start,
                end,
                (0, 0),
                nothing,
                nothing,
                controls(body, cycle),
            )
            ident += 1


def controls(body: Body, cycle: Cycle) -> frozenset[str]:
    """The registers that decide whether a loop goes on.

    A loop that counts ends by one of its exits whatever the others do: an exit that is passed in
    every iteration, whose predicate changes within the loop, and there by arithmetic that is done
    in every iteration. The simplest such exit decides; where there is none, all jumps of the loop
    do. The answer is what they read and what that is computed from within the loop. What goes
    through memory is not followed.
    """
    sure = [found for block in cycle.blocks if (found := _counting_exit(body, cycle, block))]
    if sure:
        return min(sure, key=lambda found: (len(found), sorted(found)))
    return _computed_from(body, cycle, (name for n in cycle.blocks for name in _jump(body, n)))


def _span(body: Body, block: int) -> range:
    return body.flow.statements_of(block)


def _jump(body: Body, block: int) -> Iterator[str]:
    """The registers that the jump at a block's end reads."""
    for at in _span(body, block)[-1:]:
        instruction = body.statements[at].instruction
        if instruction.jumps:
            yield from (use.name for use in instruction.uses if use.name)


def _counting_exit(body: Body, cycle: Cycle, block: int) -> frozenset[str] | None:
    """What decides about an exit that is sure to be taken some time; None for other blocks."""
    flow = body.flow
    always = {n for n in cycle.blocks if all(flow.dominators[k] >> n & 1 for k in cycle.latches)}
    leaves = any(successor not in cycle.blocks for successor in flow.blocks[block].successors)
    if block not in always or not leaves:
        return None
    found = _computed_from(body, cycle, _jump(body, block))
    varying = False
    for number in cycle.blocks:
        for at in _span(body, number):
            instruction = body.statements[at].instruction
            if found.isdisjoint(instruction.defines):
                continue
            if number not in always or instruction.guarded or not _is_arithmetic(instruction):
                return None
            varying = varying or not found.isdisjoint(use.name for use in instruction.uses)
    return found if varying else None


def _is_arithmetic(instruction: Instruction) -> bool:
    """Whether the same operands always give the same result."""
    return "[" not in instruction.text and instruction.operation not in _BETWEEN_THREADS


def _computed_from(body: Body, cycle: Cycle, names: Iterable[str]) -> frozenset[str]:
    """Registers, and all that they are computed from within a loop."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for at in body.writers.get(name, ()):
                if body.flow.block_of[at] in cycle.blocks:
                    waiting += (u.name for u in body.statements[at].instruction.uses if u.name)
    return frozenset(found)
