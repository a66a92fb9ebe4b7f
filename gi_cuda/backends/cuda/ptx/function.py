"""What has to be known of a PTX function to confine it, and what its lines become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True)
class Function:
    """What has to be known of a function to confine its instructions.

    Attributes:
        entry: whether it is a kernel.
        warps: whether threads of a warp do something together anywhere in its module.
        registers: bits of registers, by the letters that their names begin with, and of those that
            were declared one by one, by name.
        variables: those of the module in global memory that it names, with their bytes.
        stack: name and bytes of the memory of its own; None where it has none.
        lines: of such functions, what has become of lines.
        forms: the same of accesses, whatever their registers are.
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
        """Bits of a register."""
        widths = self._widths
        return widths.get(register) or widths.get(register.rstrip("0123456789"), 64)


class Form(NamedTuple):
    """How an access is confined.

    Attributes:
        steps: what comes in front of it; empty where it may stay as it is.
        forced: the register that takes the place of its address.
    """

    steps: str
    forced: str


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump.

    Attributes:
        target: where to.
        text: the instruction.
        back: the same where it jumps backwards.
    """

    target: str
    text: str
    back: str

    def within(self, before: str, after: str) -> Jump:
        """This jump with all else that its line has."""
        return Jump(self.target, f"{before}{self.text}{after}", f"{before}{self.back}{after}")


@dataclass(frozen=True, slots=True)
class Numbered:
    """What needs a number of its own in its function; the text by that number."""

    text: Callable[[int], str]


Piece: TypeAlias = str | Jump | Numbered


@dataclass(frozen=True, slots=True)
class Line:
    """A line of which it depends on others what becomes of it.

    Attributes:
        labels: that stand in it.
    """

    labels: Sequence[str]
    pieces: Sequence[Piece]
