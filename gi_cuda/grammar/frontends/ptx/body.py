"""The body of a PTX function: its instructions, its registers, its flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gi_cuda.grammar.frontends.ptx.flow import Flow, FlowStep
from gi_cuda.grammar.frontends.ptx.operands import Instruction
from gi_cuda.grammar.frontends.ptx.syntax import Label, PtxFunction, Statement


class Body:
    """The body of an evolved function.

    Attributes:
        function: its text's items.
        statements: the instructions among them.
        steps: as many, and one more where labels stand at the end; with the labels before each.
        label_starts: where each label stands in the module's text.
        bits: which bit stands for each register that an instruction names.
        writers: by register, the numbers of the statements that write it.
        flow: of the text as it is.
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
        """Registers as a set of bits."""
        mask = 0
        for name in names:
            mask |= self.bits[name]
        return mask


def _registers(instruction: Instruction) -> Iterator[str]:
    yield from instruction.defines
    yield from (use.name for use in instruction.uses if use.name)
