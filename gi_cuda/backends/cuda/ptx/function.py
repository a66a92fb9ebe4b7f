"""Properties of a PTX function that decide how to confine it, and its lines' confined form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True)
class Function:
    """The properties of a function that decide how its instructions are confined.

    Attributes:
        entry: whether it is a kernel.
        warps: whether its module has operations of several threads of a warp.
        registers: bits of registers, by the letters that their names begin with; for registers that
            are declared singly, by name.
        variables: the module's variables in global memory that it names, with their sizes in bytes.
        stack: name and bytes of its own stack memory; None if it has none.
        lines: cached confined forms of lines, for all functions with the same properties.
        forms: cached forms of accesses, for all registers.
    """

    entry: bool
    warps: bool
    registers: tuple[tuple[str, int], ...]
    variables: tuple[tuple[str, int], ...]
    stack: tuple[str, int] | None
    lines: dict[str, str | Jump | Line] = field(default_factory=dict, compare=False)
    forms: dict[object, Form | None] = field(default_factory=dict, compare=False)

    @cached_property
    def _widths(self) -> Mapping[str, int]:
        return dict(self.registers)

    def width(self, register: str) -> int:
        """Return the bits of a register."""
        widths = self._widths
        return widths.get(register) or widths.get(register.rstrip("0123456789"), 64)


class Form(NamedTuple):
    """The way in which an access is confined.

    Attributes:
        steps: instructions before it; empty if the access stays unchanged.
        forced: the register that replaces its address.
    """

    steps: str
    forced: str


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump.

    Attributes:
        target: the label that it jumps to.
        text: the instruction.
        back: its form if it jumps backwards.
    """

    target: str
    text: str
    back: str

    def within(self, before: str, after: str) -> Jump:
        """Return this jump with the text before and after it on its line."""
        return Jump(self.target, f"{before}{self.text}{after}", f"{before}{self.back}{after}")


@dataclass(frozen=True, slots=True)
class Numbered:
    """Text that contains a number which is unique in its function.

    Attributes:
        text: makes the text from the number.
    """

    text: Callable[[int], str]


Piece: TypeAlias = str | Jump | Numbered


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose confined form depends on other lines.

    Attributes:
        labels: the labels in it.
        pieces: its parts in order.
    """

    labels: Sequence[str]
    pieces: Sequence[Piece]
