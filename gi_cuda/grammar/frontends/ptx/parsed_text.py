"""PTX that evolves."""

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
"""Where loops count: a variable in the namespace of the reference."""


def read_ptx(source: Source, wanted: Wanted) -> PtxText:
    """PTX as a program."""
    return PtxText(convert_ptx(source, wanted.kernels, wanted.functions))


@dataclass(frozen=True)
class PtxText(ParsedText):
    """PTX and its rules."""

    grammar: PtxGrammar

    def notation(self) -> Mapping[str, str]:
        """The rules."""
        return {".bnf": write_bnf(self.grammar)}

    def identity(self, beside: Sequence[str] = ()) -> str:
        """The code and the names of the rules in it."""
        code = [text.partition("\t.section\t.debug_str")[0] for text in (self.text, *beside)]
        return "\n".join([*code, *(rule.name for rule in self.grammar.rules)])

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """A variant's PTX."""
        return render_ptx(self.grammar, expansions, limits)

    def instrument(self) -> str:
        """The PTX with every loop counting its iterations."""
        return instrument_ptx(self.grammar, COUNTER)

    def mark(self, name: str) -> str:
        """The PTX with a count before the instruction that a rule is or is read by."""
        return mark_ptx(self.grammar, name, COUNTER)

    def instructions(self) -> Mapping[str, CompiledInstruction]:
        """By rule, the instruction that it is or is read by."""
        found, grammar = origins(self.grammar), self.grammar
        statements = (
            (name, grammar.bodies[place.body].statements[place.statement])
            for name, place in grammar.places.items()
        )
        return {
            name: CompiledInstruction(one.start, one.end, found[name]) for name, one in statements
        }
