"""From edits back to PTX text: splices into the original."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gi_cuda.grammar.frontends.ptx.confine import confine
from gi_cuda.grammar.frontends.ptx.grammar import PtxGrammar
from gi_cuda.grammar.frontends.ptx.guard import Guards, counters, guard, loops_in, touched
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


def rehearse_ptx(
    grammar: PtxGrammar,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int],
    window: tuple[int, int],
) -> str:
    """The variant's PTX made to do no harm, whatever its answers are: every loop is guarded, and
    every instruction confined.

    Args:
        expansions, limits: as for :func:`render_ptx`.
        window: base and size, see :func:`~gi_cuda.grammar.frontends.ptx.confine.confine`.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    changed = {altered.body: altered for altered in alter(grammar, expansions)}
    splices: list[Splice] = []
    for number, body in enumerate(grammar.bodies):
        guards = guard(body, loops_in(grammar, number), limits)
        altered = changed.get(number, Altered(number, {}))
        splices += _splices(grammar, altered, guards, body.risky, window)
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


def _splices(
    grammar: PtxGrammar,
    altered: Altered,
    guards: Guards,
    risky: Collection[int] = (),
    window: tuple[int, int] | None = None,
) -> Iterator[Splice]:
    """A function's. With a window all is confined to it: what changed, and ``risky`` statements."""
    text, body = grammar.source.text, grammar.bodies[altered.body]
    if guards.declarations:
        start = body.function.body
        yield replacing(start, start, "".join(f"\n\t{one}" for one in guards.declarations))
    for label, lines in guards.before_label.items():
        at = body.label_starts[label]
        yield replacing(at, at, "".join(f"\t{one}\n" for one in lines))
    others = {*altered.changes, *guards.labels, *guards.before}
    if window is not None:
        for number in risky:  # most of them, with nothing but that to be done
            if number not in others:
                one = body.statements[number]
                confined = confine(one.instruction.text, body.narrow, window)
                yield replacing(one.start, one.end, confined)
    for number in others:
        statement = body.statements[number]
        found = altered.changes.get(number, (Placed(statement.instruction, True),))
        texts = [(placed.instruction.text, placed.own) for placed in found]
        if window is not None:
            texts = [(confine(one, body.narrow, window), own) for one, own in texts]
        pieces = [
            *guards.labels.get(number, ()),
            *(one for one, own in texts if not own),
            *guards.before.get(number, ()),
            *(one for one, own in texts if own),
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
