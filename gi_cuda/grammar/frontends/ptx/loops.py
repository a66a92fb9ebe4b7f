"""The loops of PTX functions, and the registers that decide how long they run."""

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
    """Yield the loops of several functions, numbered consecutively, in the order of the text."""
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
    """Return the registers that decide whether a loop goes on.

    A counting exit ends a loop whatever its other exits do. Every iteration passes it, and its
    predicate is computed in the loop by arithmetic that is done in every iteration. If the loop has
    counting exits, the one with the fewest registers decides; else all jumps of the loop decide.
    The result contains the registers that these jumps read, and the registers from which the loop
    computes them. Values that pass through memory are not followed.
    """
    sure = [found for block in cycle.blocks if (found := _counting_exit(body, cycle, block))]
    if sure:
        return min(sure, key=lambda found: (len(found), sorted(found)))
    return _computed_from(body, cycle, (name for n in cycle.blocks for name in _jump(body, n)))


def _span(body: Body, block: int) -> range:
    return body.flow.statements_of(block)


def _jump(body: Body, block: int) -> Iterator[str]:
    """Yield the registers that the jump at a block's end reads."""
    for at in _span(body, block)[-1:]:
        instruction = body.statements[at].instruction
        if instruction.jumps:
            yield from (use.name for use in instruction.uses if use.name)


def _counting_exit(body: Body, cycle: Cycle, block: int) -> frozenset[str] | None:
    """Return the registers that decide a block's counting exit; None if it has none."""
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
    """Tell whether an instruction's result depends only on its operands."""
    return "[" not in instruction.text and instruction.operation not in _BETWEEN_THREADS


def _computed_from(body: Body, cycle: Cycle, names: Iterable[str]) -> frozenset[str]:
    """Return registers, and all registers from which a loop computes them."""
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
