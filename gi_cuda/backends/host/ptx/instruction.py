"""A PTX instruction, and C++ expressions that read and write its operands.

Registers hold bits. ``gi_as<T>(x)`` interprets them as a value of a type, ``gi_ptx_set(d, x)``
writes a value into a register (both are in ``gi_ptx.hpp``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gi_cuda.backends.host.ptx.types import TYPES, of_register, value

_ADDRESS: Final = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")


class Unknown(Exception):
    """PTX that cannot be translated; the message is its text."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction.

    Attributes:
        name: its first word.
        words: the following words, without dots.
        operands: its operands as they are written.
        text: the whole instruction.
    """

    name: str
    words: tuple[str, ...]
    operands: tuple[str, ...]
    text: str

    @property
    def kind(self) -> str:
        """C++ name of the type that it works on, which is its last word."""
        return self.type_of(self.words[-1] if self.words else "")

    def type_of(self, word: str) -> str:
        """Return a type's C++ name."""
        if word not in TYPES:
            raise Unknown(self.text)
        return TYPES[word]

    def read(self, number: int, kind: str | None = None) -> str:
        """Return an operand as a value of a type, by default the instruction's type."""
        if number >= len(self.operands):
            raise Unknown(self.text)
        return self.taken(self.operands[number], kind)

    def taken(self, operand: str, kind: str | None = None) -> str:
        """Return a register or a constant as a value of a type."""
        kind = kind or self.kind
        negated = operand.startswith("!")
        found = value(operand.removeprefix("!"))
        if found is None:
            raise Unknown(self.text)
        return f"!{found}" if negated else f"gi_as<{kind}>({found})"

    def gives(self, expression: str) -> str:
        """Return a statement that writes a value into the first operand."""
        return f"gi_ptx_set({self.written(self.operands[0])}, {expression});"

    def written(self, operand: str) -> str:
        """Return the variable of a register that is written."""
        if operand == "_":
            return "gi_nobody()"
        if not re.fullmatch(r"%?[A-Za-z_$][\w$]*", operand):
            raise Unknown(self.text)
        return of_register(operand)

    def address(self, number: int, space: str) -> str:
        """Return the address of an operand such as ``[a + 4]``."""
        found = _ADDRESS.fullmatch(self.operands[number]) if number < len(self.operands) else None
        base = value(found[1]) if found else None
        if found is None or base is None:
            raise Unknown(self.text)
        where = f"uint64_t({base}) + {found[2] or 0}"
        return f"gi_ptx_shared({where})" if space == "shared" else f"({where})"

    def vector(self, number: int) -> list[str]:
        """Return the registers of ``{a, b}``, or the only register."""
        text = self.operands[number]
        return [one.strip() for one in text.strip("{} ").split(",")]

    @property
    def space(self) -> str:
        """Memory space that it accesses: ``shared``, or "" for any other."""
        return "shared" if any(word.startswith("shared") for word in self.words) else ""
