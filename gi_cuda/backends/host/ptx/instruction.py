"""An instruction of PTX, and how its operands are read and written in C++.

Registers hold bits. ``gi_as<T>(x)`` takes them for a value of a type, ``gi_ptx_set(d, x)`` puts one
into a register (both are in ``gi_ptx.hpp``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gi_cuda.backends.host.ptx.types import TYPES, of_register, value

_ADDRESS: Final = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")


class Unknown(Exception):
    """PTX that is not known here; the message is what it says."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction.

    Attributes:
        name: its first word.
        words: those that follow, without their points.
        operands: as they are written.
        text: all of it.
    """

    name: str
    words: tuple[str, ...]
    operands: tuple[str, ...]
    text: str

    @property
    def kind(self) -> str:
        """The type of what it works on, in C++: that of its last word."""
        return self.type_of(self.words[-1] if self.words else "")

    def type_of(self, word: str) -> str:
        """A type's C++ name."""
        if word not in TYPES:
            raise Unknown(self.text)
        return TYPES[word]

    def read(self, number: int, kind: str | None = None) -> str:
        """The expression of an operand, as a value of a type, by default the instruction's."""
        if number >= len(self.operands):
            raise Unknown(self.text)
        return self.taken(self.operands[number], kind)

    def taken(self, operand: str, kind: str | None = None) -> str:
        """A register or a constant as a value of a type."""
        kind = kind or self.kind
        negated = operand.startswith("!")
        found = value(operand.removeprefix("!"))
        if found is None:
            raise Unknown(self.text)
        return f"!{found}" if negated else f"gi_as<{kind}>({found})"

    def gives(self, expression: str) -> str:
        """A statement that puts a value into the first operand."""
        return f"gi_ptx_set({self.written(self.operands[0])}, {expression});"

    def written(self, operand: str) -> str:
        """The variable of a register that is written."""
        if operand == "_":
            return "gi_nobody()"
        if not re.fullmatch(r"%?[A-Za-z_$][\w$]*", operand):
            raise Unknown(self.text)
        return of_register(operand)

    def address(self, number: int, space: str) -> str:
        """Where ``[a + 4]`` is."""
        found = _ADDRESS.fullmatch(self.operands[number]) if number < len(self.operands) else None
        base = value(found[1]) if found else None
        if found is None or base is None:
            raise Unknown(self.text)
        where = f"uint64_t({base}) + {found[2] or 0}"
        return f"gi_ptx_shared({where})" if space == "shared" else f"({where})"

    def vector(self, number: int) -> list[str]:
        """The registers of ``{a, b}``, or the only one."""
        text = self.operands[number]
        return [one.strip() for one in text.strip("{} ").split(",")]

    @property
    def space(self) -> str:
        """The memory it is about: ``shared``, or any other."""
        return "shared" if any(word.startswith("shared") for word in self.words) else ""
