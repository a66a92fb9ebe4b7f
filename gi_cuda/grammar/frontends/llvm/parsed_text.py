"""LLVM-IR that evolves.

Its loops have no guards: what does not end is found out in confined code, or by the time limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from gi_cuda.grammar.frontends.instructions.grammar import convert
from gi_cuda.grammar.frontends.instructions.parsed_text import COUNTER, InstructionText
from gi_cuda.grammar.frontends.instructions.render import Guards, added, render, spliced
from gi_cuda.grammar.frontends.instructions.variant import Altered
from gi_cuda.grammar.frontends.llvm.lines import origins
from gi_cuda.grammar.frontends.llvm.syntax import read_functions
from gi_cuda.grammar.interface import SourceLines, Wanted
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import splice


def read_llvm(source: Source, wanted: Wanted) -> LlvmText:
    """Read LLVM-IR as a program."""
    functions = read_functions(source.text)
    return LlvmText(convert(source, "LLVM-IR", functions, wanted.kernels, wanted.functions))


@dataclass(frozen=True)
class LlvmText(InstructionText):
    """LLVM-IR and its rules."""

    def render(
        self, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
    ) -> str:
        """Return a variant's IR."""
        return render(self.grammar, expansions)

    def instrument(self) -> str:
        """Return the IR as it is: it has no loops that are counted."""
        return self.text

    def mark(self, name: str) -> str:
        """Return the IR with a count before the instruction that a rule is or is read by."""
        grammar, place = self.grammar, self.grammar.places[name]
        statements = grammar.bodies[place.body].statements
        at = next(n for n in count(place.statement) if not statements[n].instruction.merges)
        pointer = f"ptr addrspace(1) @{COUNTER}"
        reached = Guards(before={at: [f"store volatile i32 1, {pointer}, align 4"]})
        variable = f"@{COUNTER} = addrspace(1) global i32 0, align 4\n"
        splices = [*spliced(grammar, Altered(place.body, {}), reached), added(grammar, variable)]
        return splice(grammar.source.text, splices)

    def origins(self) -> Mapping[str, SourceLines]:
        """Return where each rule's instruction comes from."""
        return origins(self.grammar)
