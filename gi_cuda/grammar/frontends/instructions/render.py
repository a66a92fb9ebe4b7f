"""From edits back to a text of instructions: splices into the original."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.instructions.variant import Altered, Placed, alter
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.splice import Splice, indent, is_first, removing, replacing, splice

_REST_OF_LINE = re.compile(r"[ \t]*\r?(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Guards:
    """Text to insert into a function: counters that end its loops.

    Attributes:
        declarations: lines for the beginning of the function.
        before_label: text in front of a label, by label.
        before: text directly in front of a statement, by statement.
    """

    declarations: list[str] = field(default_factory=list)
    before_label: dict[str, list[str]] = field(default_factory=dict)
    before: dict[int, list[str]] = field(default_factory=dict)


def render(
    grammar: InstructionGrammar,
    expansions: Mapping[str, Expansion],
    guard: Callable[[Altered], Guards] = lambda _: Guards(),
) -> str:
    """Return a variant's text; that of no expansions is the original, byte for byte.

    Args:
        expansions: by rule name, what becomes of it. What becomes of the operands of an instruction
            that is deleted or replaced does not matter.
        guard: what a function that the expansions change is guarded with.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    splices: list[Splice] = []
    for altered in alter(grammar, expansions):
        splices += spliced(grammar, altered, guard(altered))
    return splice(grammar.source.text, splices)


def added(grammar: InstructionGrammar, text: str) -> Splice:
    """Put a variable in front of a module's functions."""
    start = min(body.function.start for body in grammar.bodies)
    return replacing(start, start, text)


def spliced(grammar: InstructionGrammar, altered: Altered, guards: Guards) -> Iterator[Splice]:
    """Return the splices of one function."""
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
