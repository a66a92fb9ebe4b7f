"""Source lines of LLVM-IR instructions, as its debug information tells them.

An instruction names a location (``!dbg !31``): a line, a scope, and where that was inlined the
location of the call. A scope belongs to a file (LLVM, "Source Level Debugging").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.interface import SourceLines
from gi_cuda.grammar.source import SourceLine

NOT_TOLD = "clang names no line for it"

_NODE = re.compile(r"^!(\d+) = (?:distinct )?!DI\w+\((.*)\)$", re.M)
_FIELD = re.compile(r'(\w+): (?:"([^"]*)"|!?(\w+))')
_LOCATION = re.compile(r"!dbg !(\d+)")

_Nodes = Mapping[str, Mapping[str, str]]
"""Fields of each node of debug information, by the number of the node."""


def origins(grammar: InstructionGrammar) -> Mapping[str, SourceLines]:
    """Return where each rule's instruction comes from; files are called what the IR calls them."""
    nodes = {
        number: {name: quoted or plain for name, quoted, plain in _FIELD.findall(fields)}
        for number, fields in _NODE.findall(grammar.source.text)
    }
    return {
        name: _origin(
            grammar.bodies[place.body].statements[place.statement].instruction.text, nodes
        )
        for name, place in grammar.places.items()
    }


def _origin(instruction: str, nodes: _Nodes) -> SourceLines:
    located = _LOCATION.search(instruction)
    places = tuple(_places(located[1], nodes)) if located else ()
    return SourceLines(places) if places else SourceLines(reason=NOT_TOLD)


def _places(number: str, nodes: _Nodes) -> Iterator[SourceLine]:
    """The lines of a location, from the instruction's own outwards."""
    while number in nodes:
        location = nodes[number]
        scope = nodes.get(location.get("scope", ""), {})
        file = nodes.get(scope.get("file", ""), {}).get("filename")
        line = int(location.get("line", "0"))
        if line and file:  # line 0 is the compiler's own doing
            yield SourceLine(file, line)
        number = location.get("inlinedAt", "")
