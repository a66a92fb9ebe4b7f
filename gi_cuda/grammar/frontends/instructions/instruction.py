"""The values that functions of a text of instructions are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

_JUMPS = frozenset({"bra", "brx", "ret", "exit", "trap"})
_TERMINATORS = frozenset({"br", "switch", "indirectbr", "unreachable", "ret"})


@dataclass(frozen=True, slots=True)
class OperandUse:
    """A register or literal that an instruction reads.

    Attributes:
        start, end: its span in the instruction's text.
        name: the register's name; empty for a literal.
        literal: what literals it may be exchanged with: those of the same kind; empty for a
            register, and for a literal that only its own place takes.
        fixed: whether no edit exchanges it.
        block: label of the block at whose end it is read, for an operand of a phi; else empty.
    """

    start: int
    end: int
    name: str
    literal: str = ""
    fixed: bool = False
    block: str = ""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, without its place.

    Attributes:
        text: all of it, e.g. from the guard predicate or opcode to the semicolon.
        opcode: with its modifiers, e.g. ``ld.global.u32``.
        defines: the registers it writes; those of a predicated instruction count as written.
        uses: what it reads, its guard predicate first.
        guarded: whether it is executed under a predicate.
    """

    text: str
    opcode: str
    defines: tuple[str, ...]
    uses: tuple[OperandUse, ...]
    guarded: bool = False

    @property
    def operation(self) -> str:
        """The opcode without modifiers."""
        return self.opcode.partition(".")[0]

    @property
    def jumps(self) -> bool:
        """Tell whether control may go elsewhere than to the next instruction."""
        return self.operation in _JUMPS or self.operation in _TERMINATORS

    @property
    def falls(self) -> bool:
        """Tell whether control may go to the next instruction."""
        return self.guarded or not self.jumps

    @property
    def merges(self) -> bool:
        """Tell whether it is a phi, which reads its operands at the ends of other blocks."""
        return self.opcode == "phi"

    def reading(self, texts: Mapping[int, str], registers: Iterable[str]) -> Instruction:
        """Return it with other operands.

        Args:
            texts: the operands, by the number of the use.
            registers: names that are registers; all others count as literals.
        """
        parts: list[str] = []
        uses: list[OperandUse] = []
        at = shift = 0
        for number, use in enumerate(self.uses):  # they stand in the order of the text
            own = self.text[use.start : use.end]
            new = texts.get(number, own)
            name = use.name if new == own else new if new in registers else ""
            parts += [self.text[at : use.start], new]
            at, start = use.end, use.start + shift
            shift += len(new) - len(own)
            uses.append(replace(use, start=start, end=start + len(new), name=name))
        return replace(self, text="".join([*parts, self.text[at:]]), uses=tuple(uses))

    def writing(self, name: str) -> Instruction:
        """Return it with another name for the register that its text begins with."""
        (own,) = self.defines
        more = len(name) - len(own)
        uses = (replace(one, start=one.start + more, end=one.end + more) for one in self.uses)
        return replace(self, text=name + self.text[len(own) :], defines=(name,), uses=tuple(uses))


@dataclass(frozen=True, slots=True)
class Label:
    """A place that jumps go to."""

    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction in its place.

    Attributes:
        instruction: what it is.
        start, end: its span in the module's text.
        fixed: whether no edit changes it or its operands.
        targets: labels that it may jump to.
    """

    instruction: Instruction
    start: int
    end: int
    fixed: bool
    targets: tuple[str, ...] = ()


Item = Label | Statement


@dataclass(frozen=True, slots=True)
class InstructionFunction:
    """A kernel or function with a body.

    Attributes:
        name: its symbol.
        kernel: whether it is a kernel.
        start, end: span of the whole.
        body: where the text after its opening brace begins.
        registers: type by name: a :class:`~gi_cuda.grammar.rule_types.RuleType`, or for registers
            that no edit exchanges the type's name.
        items: labels and instructions in order.
        calls: names of the functions that it names in calls.
        parameters: registers that are written before its first instruction.
        assigned_once: whether each register is written in one place of the text, so that a copy
            of an instruction needs another name (static single assignment).
    """

    name: str
    kernel: bool
    start: int
    end: int
    body: int
    registers: Mapping[str, str]
    items: tuple[Item, ...]
    calls: frozenset[str]
    parameters: tuple[str, ...] = ()
    assigned_once: bool = False
