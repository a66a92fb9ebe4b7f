"""The loops of PTX functions, and what decides how long they go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gi_cuda.grammar.model import Loop
from gi_cuda.grammar.places import Places
from gi_cuda.grammar.ptx.flow import Cycle

if TYPE_CHECKING:
    from gi_cuda.grammar.ptx.grammar import Body


def loops_of(bodies: Iterable[Body], lines: Places) -> Iterator[Loop]:
    """The loops of functions, numbered through, those of a function in the order of its text."""
    ident = 0
    for body in bodies:
        for cycle in body.flow.loops:
            steps = [k for number in cycle.blocks for k in _span(body, number)]
            spans = [body.statements[k] for k in steps if k < len(body.statements)]
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


def cycles(bodies: Iterable[Body]) -> Iterator[tuple[Body, Cycle]]:
    """The same loops by ident, as the flow has them."""
    for body in bodies:
        for cycle in body.flow.loops:
            yield body, cycle


def _span(body: Body, block: int) -> range:
    return range(body.flow.blocks[block].first, body.flow.blocks[block].last)


def controls(body: Body, cycle: Cycle) -> frozenset[str]:
    """The registers that decide whether a loop goes on.

    They are the predicates of its jumps, and all that these are computed from in the function. What
    goes through memory is not followed.
    """
    found: set[str] = set()
    waiting = [
        use.name
        for number in cycle.blocks
        for k in _span(body, number)
        if (one := body.steps[k].instruction) is not None and one.jumps
        for use in one.uses
    ]
    writers: dict[str, list[int]] = {}
    for k, statement in enumerate(body.statements):
        for name in statement.instruction.defines:
            writers.setdefault(name, []).append(k)
    while waiting:
        name = waiting.pop()
        if name and name not in found:
            found.add(name)
            for k in writers.get(name, ()):
                waiting += [use.name for use in body.statements[k].instruction.uses]
    return frozenset(found)
