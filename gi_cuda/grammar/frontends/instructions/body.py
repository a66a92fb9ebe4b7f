"""The body of a function of instructions: its instructions, its registers, its flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gi_cuda.grammar.frontends.instructions.flow import Flow, FlowStep
from gi_cuda.grammar.frontends.instructions.instruction import (
    Instruction,
    InstructionFunction,
    Label,
    OperandUse,
    Statement,
)


class Body:
    """The body of an evolved function.

    Attributes:
        function: its text's items.
        statements: the instructions among them.
        steps: as many, and one more where labels stand at the end; with the labels before each.
        label_starts: where each label stands in the module's text.
        bits: which bit stands for each register that an instruction names, and each parameter.
        writers: by register, the numbers of the statements that write it.
        flow: of the text as it is.
        phis: numbers of the statements that are one.
        ends: by label, the number of its block.
    """

    def __init__(self, function: InstructionFunction) -> None:
        self.function = function
        self.statements: list[Statement] = []
        self.steps: list[FlowStep] = []
        self.bits = {name: 1 << at for at, name in enumerate(function.parameters)}
        self.writers: dict[str, list[int]] = {}
        waiting: list[str] = []
        self.label_starts: dict[str, int] = {}
        for item in function.items:
            if isinstance(item, Label):
                waiting.append(item.name)
                self.label_starts[item.name] = item.start
            else:
                self.statements.append(item)
                for name in item.instruction.defines:
                    self.writers.setdefault(name, []).append(len(self.statements) - 1)
                for name in _registers(item.instruction):
                    self.bits.setdefault(name, 1 << len(self.bits))
                self.steps.append(
                    FlowStep(
                        tuple(waiting),
                        item.instruction,
                        item.targets,
                        self.mask(u.name for u in item.instruction.uses if u.name and not u.block),
                        self.mask(item.instruction.defines),
                    )
                )
                waiting = []
        if waiting:
            self.steps.append(FlowStep(tuple(waiting), None))
        self.flow = Flow(self.steps, self.mask(function.parameters))
        self.phis = [n for n, one in enumerate(self.statements) if one.instruction.merges]
        self.ends = {
            name: number
            for number, block in enumerate(self.flow.blocks)
            for name in self.steps[block.first].labels
        }

    def defined(self, statement: int, use: OperandUse | None = None) -> int:
        """The registers that are written on every way to a statement or a use of it."""
        if use is not None and use.block:
            number = self.ends[use.block]
            return self.flow.original_entries[number] | self.flow.gains[number]
        return self.flow.defined[statement]

    def mask(self, names: Iterable[str]) -> int:
        """Return a set of registers as a bit mask."""
        mask = 0
        for name in names:
            mask |= self.bits.get(name, 0)  # a variant's copies have names of their own
        return mask


def _registers(instruction: Instruction) -> Iterator[str]:
    yield from instruction.defines
    yield from (use.name for use in instruction.uses if use.name)
