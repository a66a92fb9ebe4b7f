"""Instructions that evolve."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.interface import CompiledInstruction, ParsedText, SourceLines
from gi_cuda.grammar.notation.bnf import write_bnf

COUNTER = "_ZN2v012gi_loop_mostE"
"""Symbol of the variable that counts loop iterations, in the namespace of the reference."""


@dataclass(frozen=True)
class InstructionText(ParsedText):
    """A text of instructions and its rules."""

    grammar: InstructionGrammar

    def notation(self) -> Mapping[str, str]:
        """Return the rules."""
        return {".bnf": write_bnf(self.grammar)}

    def identity(self, beside: Sequence[str] = ()) -> str:
        """Return the code and the names of the rules in it."""
        code = [text.partition("\t.section\t.debug_str")[0] for text in (self.text, *beside)]
        return "\n".join([*code, *(rule.name for rule in self.grammar.rules)])

    def instructions(self) -> Mapping[str, CompiledInstruction]:
        """Return, by rule, the instruction that it is or is read by."""
        found, grammar = self.origins(), self.grammar
        statements = (
            (name, grammar.bodies[place.body].statements[place.statement])
            for name, place in grammar.places.items()
        )
        return {
            name: CompiledInstruction(one.start, one.end, found[name]) for name, one in statements
        }

    @abstractmethod
    def origins(self) -> Mapping[str, SourceLines]:
        """Return where each rule's instruction comes from."""
