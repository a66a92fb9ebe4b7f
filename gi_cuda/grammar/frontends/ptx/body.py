"""The body of a PTX function: instructions, registers and control flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gi_cuda.grammar.frontends.ptx.flow import Flow, FlowStep
from gi_cuda.grammar.frontends.ptx.operands import Instruction
from gi_cuda.grammar.frontends.ptx.syntax import Label, PtxFunction, Statement


class Body:
    """The body of an evolved function.

    Attributes:
        function: the function with its items (labels and instructions).
        statements: the instructions among the items.
        steps: one step per instruction, with the labels before it; one more step if labels are at
            the end.
        label_starts: offset of each label in the module's text.
        bits: the bit that represents each register named by an instruction.
        writers: for each register, the numbers of the statements that write it.
        flow: flow graph of the unchanged text.
    """

    def __init__(self, function: PtxFunction) -> None:
        self.function = function
        self.statements: list[Statement] = []
        self.steps: list[FlowStep] = []
        self.bits: dict[str, int] = {}
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
                        self.mask(use.name for use in item.instruction.uses if use.name),
                        self.mask(item.instruction.defines),
                    )
                )
                waiting = []
        if waiting:
            self.steps.append(FlowStep(tuple(waiting), None))
        self.flow = Flow(self.steps)

    def mask(self, names: Iterable[str]) -> int:
        """Return a set of registers as a bit mask."""
        mask = 0
        for name in names:
            mask |= self.bits[name]
        return mask


def _registers(instruction: Instruction) -> Iterator[str]:
    yield from instruction.defines
    yield from (use.name for use in instruction.uses if use.name)
