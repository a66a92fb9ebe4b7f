"""PTX as a text that can evolve (:class:`ParsedText`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gi_cuda.grammar.frontends.instructions.parsed_text import COUNTER, InstructionText
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.frontends.ptx.lines import origins
from gi_cuda.grammar.frontends.ptx.render import instrument_ptx, mark_ptx, render_ptx
from gi_cuda.grammar.interface import SourceLines, Wanted
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.source import Source


def read_ptx(source: Source, wanted: Wanted) -> PtxText:
    """Read PTX as rules."""
    return PtxText(convert_ptx(source, wanted.kernels, wanted.functions))


@dataclass(frozen=True)
class PtxText(InstructionText):
    """PTX and its rules."""

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

    def origins(self) -> Mapping[str, SourceLines]:
        """Source lines of each rule's instruction, from debug information."""
        return origins(self.grammar)
