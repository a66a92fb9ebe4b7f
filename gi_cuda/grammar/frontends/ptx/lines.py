"""Source lines of PTX instructions, from nvcc's line information (``-lineinfo``).

A ``.loc`` directive gives the source line of the instructions that follow it. For an inlined
function, it also gives the position of the call. That is the position of an earlier ``.loc``, which
may be in an inlined function itself (PTX ISA, "Debugging Directives").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.interface import SourceLines
from gi_cuda.grammar.source import SourceLine

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"', re.M)
_POSITION = r"(\d+)[ \t]+(\d+)[ \t]+(\d+)"
_LOC = re.compile(rf"^[ \t]*\.loc[ \t]+{_POSITION}(?:[^\n]*?\binlined_at[ \t]+{_POSITION})?", re.M)

NOT_TOLD = "nvcc names no line for it"
NOTHING_BEFORE = "no line information stands before it"
UNKNOWN_FILE = "its line information names a file that the PTX does not list"

_Position = tuple[int, int, int]
"""Number of the file, line and column, as in ``.loc``."""


def origins(grammar: InstructionGrammar) -> Mapping[str, SourceLines]:
    """Return the source lines of each rule's instruction, by rule name.

    Files have the names that the PTX gives them.
    """
    text = grammar.source.text
    files = {int(number): name for number, name in _FILE.findall(text)}
    bodies = [
        list(_told(text, body.function.body, body.function.end, files)) for body in grammar.bodies
    ]
    found = {}
    for rule in grammar.rules:
        told = bodies[grammar.places[rule.name].body]
        at = bisect_right(told, rule.start, key=lambda one: one[0]) - 1
        found[rule.name] = told[at][1] if at >= 0 else SourceLines(reason=NOTHING_BEFORE)
    return found


def _told(
    text: str, start: int, end: int, files: Mapping[int, str]
) -> Iterator[tuple[int, SourceLines]]:
    """Yield, for each ``.loc`` of a function, its end and its source lines."""
    chains: dict[_Position, tuple[_Position, ...]] = {}
    for found in _LOC.finditer(text, start, end):
        numbers = [int(number) for number in found.groups() if number is not None]
        own: _Position = (numbers[0], numbers[1], numbers[2])
        chain: tuple[_Position, ...] = ()
        if len(numbers) > 3:
            call: _Position = (numbers[3], numbers[4], numbers[5])
            chain = chains.get(call, (call,))
        chain = (own, *chain)
        chains[own] = chain
        yield found.end(), _origin(chain, files)


def _origin(chain: tuple[_Position, ...], files: Mapping[int, str]) -> SourceLines:
    # Line 0 is the compiler's own doing, at a place that may be known from further out.
    lines = [(file, line) for file, line, _ in chain if line]
    if not lines:
        return SourceLines(reason=NOT_TOLD)
    if any(file not in files for file, _ in lines):
        return SourceLines(reason=UNKNOWN_FILE)
    return SourceLines(tuple(SourceLine(files[file], line) for file, line in lines))
