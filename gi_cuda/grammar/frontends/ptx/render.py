"""From edits back to PTX text, with guards of loops and counts."""

from __future__ import annotations

from collections.abc import Mapping

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.instructions.render import Guards, added, render, spliced
from gi_cuda.grammar.frontends.instructions.variant import Altered
from gi_cuda.grammar.frontends.ptx.guard import counters, guard, touched
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.splice import Splice, splice


def render_ptx(
    grammar: InstructionGrammar,
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

    def guarded(altered: Altered) -> Guards:
        if limits is None:
            return Guards()
        return guard(grammar.bodies[altered.body], touched(grammar, altered), limits)

    return render(grammar, expansions, guarded)


def instrument_ptx(grammar: InstructionGrammar, counter: str) -> str:
    """The PTX with every loop counting how often control goes back to its header.

    Args:
        grammar: what is read of the PTX.
        counter: symbol of the array that is added; it holds the most for each loop, by ident.
    """
    splices: list[Splice] = []
    for number, guards in enumerate(counters(grammar, counter)):
        splices += spliced(grammar, Altered(number, {}), guards)
    splices.append(_array(grammar, counter, max(1, len(grammar.loops))))
    return splice(grammar.source.text, splices)


def mark_ptx(grammar: InstructionGrammar, name: str, counter: str) -> str:
    """The PTX with a mark before the instruction that a rule is or is read by.

    Args:
        counter: symbol of an array of one number that is added; it is 1 once a thread was there,
            whether or not the instruction's predicate held.

    Raises:
        KeyError: there is no such rule.
    """
    place = grammar.places[name]
    reached = Guards(before={place.statement: [f"red.global.max.u32 [{counter}], 1;"]})
    splices = [*spliced(grammar, Altered(place.body, {}), reached), _array(grammar, counter, 1)]
    return splice(grammar.source.text, splices)


def _array(grammar: InstructionGrammar, name: str, length: int) -> Splice:
    return added(grammar, f".global .align 4 .b8 {name}[{4 * length}];\n")
