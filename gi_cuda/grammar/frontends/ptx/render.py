"""Render edits as PTX text, by splices into the original text."""

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
    """Return a variant's PTX; without expansions exactly the original text.

    Args:
        grammar: the grammar.
        expansions: the expansion of each changed rule, by name. Expansions of operands of a deleted
            or replaced instruction have no effect.
        limits: largest number of iterations of each loop, by ident. Loops that the expansions may
            keep from ending get guards. None: no guards.

    Raises:
        KeyError: the grammar does not have one of the rules or donors.
    """
    splices: list[Splice] = []
    for altered in alter(grammar, expansions):
        guards = Guards()
        if limits is not None:
            guards = guard(grammar.bodies[altered.body], touched(grammar, altered), limits)
        splices += _splices(grammar, altered, guards)
    return splice(grammar.source.text, splices)


def instrument_ptx(grammar: PtxGrammar, counter: str) -> str:
    """Return the PTX with a counter in every loop of the jumps back to its header.

    Args:
        grammar: the grammar.
        counter: symbol of the array that is added; it holds the largest count of any thread for
            each loop, by ident.
    """
    splices: list[Splice] = []
    for number, guards in enumerate(counters(grammar, counter)):
        splices += _splices(grammar, Altered(number, {}), guards)
    splices.append(_array(grammar, counter, max(1, len(grammar.loops))))
    return splice(grammar.source.text, splices)


def mark_ptx(grammar: PtxGrammar, name: str, counter: str) -> str:
    """Return the PTX with a mark before a rule's instruction.

    Args:
        grammar: the grammar.
        name: name of the rule.
        counter: symbol of an array of one number that is added. It becomes 1 once a thread reaches
            the instruction, whether or not the instruction's predicate holds.

    Raises:
        KeyError: there is no rule of that name.
    """
    place = grammar.places[name]
    reached = Guards(before={place.statement: [f"red.global.max.u32 [{counter}], 1;"]})
    splices = [*_splices(grammar, Altered(place.body, {}), reached), _array(grammar, counter, 1)]
    return splice(grammar.source.text, splices)


def _array(grammar: PtxGrammar, name: str, length: int) -> Splice:
    start = min(body.function.start for body in grammar.bodies)
    return replacing(start, start, f".global .align 4 .b8 {name}[{4 * length}];\n")


def _splices(grammar: PtxGrammar, altered: Altered, guards: Guards) -> Iterator[Splice]:
    """Yield the splices of one function: its changed statements and its guards."""
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
    """Replace an instruction by other instructions; remove its line if there are none."""
    if len(pieces) == 1:
        return replacing(start, end, pieces[0])
    if pieces:
        gap = "\n" + indent(text, start) if is_first(text, start) else " "
        return replacing(start, end, gap.join(pieces))
    return removing(text, start, end, _REST_OF_LINE)
