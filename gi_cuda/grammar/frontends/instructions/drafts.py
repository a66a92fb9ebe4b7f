"""Instructions of a variant before their uses of registers are repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.instructions.body import Body
from gi_cuda.grammar.frontends.instructions.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Draft:
    """An instruction before repair.

    Attributes:
        instruction: what it is.
        original: the statement that it is a copy of; None: the statement in its own place.
        kept: numbers of the uses that are as they were in its own place.
        instead: whether it replaces the statement in whose place it stands.
    """

    instruction: Instruction
    original: int | None = None
    kept: frozenset[int] = frozenset()
    instead: bool = False

    @classmethod
    def own(cls, body: Body, at: int) -> Draft:
        """Return a statement in its own place."""
        instruction = body.statements[at].instruction
        return cls(instruction, kept=frozenset(range(len(instruction.uses))))

    def reading(self, texts: Mapping[int, str], body: Body) -> Draft:
        """Return it with other operands, by the number of the use."""
        if not texts:
            return self
        instruction = self.instruction.reading(texts, body.function.registers)
        return replace(self, instruction=instruction, kept=self.kept - texts.keys())
