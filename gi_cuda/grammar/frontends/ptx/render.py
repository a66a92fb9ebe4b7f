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

    def guarded(altered: Altered) -> Guards:
        if limits is None:
            return Guards()
        return guard(grammar.bodies[altered.body], touched(grammar, altered), limits)

    return render(grammar, expansions, guarded)


def instrument_ptx(grammar: InstructionGrammar, counter: str) -> str:
    """Return the PTX with a counter in every loop of the jumps back to its header.

    Args:
        grammar: the grammar.
        counter: symbol of the array that is added; it holds the largest count of any thread for
            each loop, by ident.
    """
    splices: list[Splice] = []
    for number, guards in enumerate(counters(grammar, counter)):
        splices += spliced(grammar, Altered(number, {}), guards)
    splices.append(_array(grammar, counter, max(1, len(grammar.loops))))
    return splice(grammar.source.text, splices)


def mark_ptx(grammar: InstructionGrammar, name: str, counter: str) -> str:
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
    splices = [*spliced(grammar, Altered(place.body, {}), reached), _array(grammar, counter, 1)]
    return splice(grammar.source.text, splices)


def _array(grammar: InstructionGrammar, name: str, length: int) -> Splice:
    return added(grammar, f".global .align 4 .b8 {name}[{4 * length}];\n")
