"""PTX as a text that can evolve (:class:`ParsedText`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.grammar.frontends.ptx.grammar import PtxGrammar, convert_ptx
from gi_cuda.grammar.frontends.ptx.lines import origins
from gi_cuda.grammar.frontends.ptx.render import instrument_ptx, mark_ptx, render_ptx
from gi_cuda.grammar.interface import CompiledInstruction, ParsedText, Wanted
from gi_cuda.grammar.notation.bnf import write_bnf
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.source import Source

COUNTER = "_ZN2v012gi_loop_mostE"
"""Symbol of the array in which loops count; it is in the namespace of the reference."""


def read_ptx(source: Source, wanted: Wanted) -> PtxText:
    """Read PTX as rules."""
    return PtxText(convert_ptx(source, wanted.kernels, wanted.functions))


@dataclass(frozen=True)
class PtxText(ParsedText):
    """PTX and its rules."""

    grammar: PtxGrammar

    def notation(self) -> Mapping[str, str]:
        """Return the ``.bnf`` (rules)."""
        return {".bnf": write_bnf(self.grammar)}

    def identity(self, beside: Sequence[str] = ()) -> str:
        """Return the code, without debug strings, and the names of its rules."""
        code = [text.partition("\t.section\t.debug_str")[0] for text in (self.text, *beside)]
        return "\n".join([*code, *(rule.name for rule in self.grammar.rules)])

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """Return a variant's PTX."""
        return render_ptx(self.grammar, expansions, limits)

    def instrument(self) -> str:
        """Return the PTX with a counter of iterations in every loop."""
        return instrument_ptx(self.grammar, COUNTER)

    def mark(self, name: str) -> str:
        """Return the PTX with a counter before a rule's instruction."""
        return mark_ptx(self.grammar, name, COUNTER)

    def instructions(self) -> Mapping[str, CompiledInstruction]:
        """Return the instruction of each rule: itself, or the reader of the operand."""
        found, grammar = origins(self.grammar), self.grammar
        statements = (
            (name, grammar.bodies[place.body].statements[place.statement])
            for name, place in grammar.places.items()
        )
        return {
            name: CompiledInstruction(one.start, one.end, found[name]) for name, one in statements
        }
