"""From edits back to PTX text: splices into the original."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gi_cuda.grammar.frontends.ptx.grammar import PtxGrammar
from gi_cuda.grammar.frontends.ptx.guard import Guards, counters, guard, touched
from gi_cuda.grammar.frontends.ptx.variant import Altered, Placed, alter
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.splice import Splice, indent, is_first, removing, replacing, splice

_REST_OF_LINE = re.compile(r"[ \t]*\r?(?:\n|\Z)")


def render_ptx(
    grammar: PtxGrammar,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int] | None = None,
) -> str:
    """The variant's PTX; that of no expansions is the original, byte for byte.

    Args:
        expansions: by rule name, what becomes of it. What becomes of the operands of an instruction
            that is deleted or replaced does not matter.
        limits: by loop ident, the most iterations allowed; loops that the expansions touch are
            guarded. None: no guards at all.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    splices: list[Splice] = []
    for altered in alter(grammar, expansions):
        guards = Guards()
        if limits is not None:
            guards = guard(grammar.bodies[altered.body], touched(grammar, altered), limits)
        splices += _splices(grammar, altered, guards)
    return splice(grammar.source.text, splices)


def instrument_ptx(grammar: PtxGrammar, counter: str) -> str:
    """The PTX with every loop counting how often control goes back to its header.

    Args:
        grammar: what is read of the PTX.
        counter: symbol of the array that is added; it holds the most for each loop, by ident.
    """
    splices: list[Splice] = []
    for number, guards in enumerate(counters(grammar, counter)):
        splices += _splices(grammar, Altered(number, {}), guards)
    splices.append(_array(grammar, counter, max(1, len(grammar.loops))))
    return splice(grammar.source.text, splices)


def mark_ptx(grammar: PtxGrammar, name: str, counter: str) -> str:
    """The PTX with a mark before the instruction that a rule is or is read by.

    Args:
        counter: symbol of an array of one number that is added; it is 1 once a thread was there,
            whether or not the instruction's predicate held.

    Raises:
        KeyError: there is no such rule.
    """
    place = grammar.places[name]
    reached = Guards(before={place.statement: [f"red.global.max.u32 [{counter}], 1;"]})
    splices = [*_splices(grammar, Altered(place.body, {}), reached), _array(grammar, counter, 1)]
    return splice(grammar.source.text, splices)


def _array(grammar: PtxGrammar, name: str, length: int) -> Splice:
    start = min(body.function.start for body in grammar.bodies)
    return replacing(start, start, f".global .align 4 .b8 {name}[{4 * length}];\n")


def _splices(grammar: PtxGrammar, altered: Altered, guards: Guards) -> Iterator[Splice]:
    """A function's."""
    text, body = grammar.source.text, grammar.bodies[altered.body]
    if guards.declarations:
        start = body.function.body
        yield replacing(start, start, "".join(f"\n\t{one}" for one in guards.declarations))
    for label, lines in guards.before_label.items():
        at = body.label_starts[label]
        yield replacing(at, at, "".join(f"\t{one}\n" for one in lines))
    for number in {*altered.changes, *guards.before}:
        statement = body.statements[number]
        found = altered.changes.get(number, (Placed(statement.instruction, True),))
        pieces = [
            *(one.instruction.text for one in found if not one.own),
            *guards.before.get(number, ()),
            *(one.instruction.text for one in found if one.own),
        ]
        yield _put(text, statement.start, statement.end, pieces)


def _put(text: str, start: int, end: int, pieces: Sequence[str]) -> Splice:
    """Put instructions where one stands; where there are none its line goes with it."""
    if len(pieces) == 1:
        return replacing(start, end, pieces[0])
    if pieces:
        gap = "\n" + indent(text, start) if is_first(text, start) else " "
        return replacing(start, end, gap.join(pieces))
    return removing(text, start, end, _REST_OF_LINE)
