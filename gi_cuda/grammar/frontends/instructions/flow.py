"""Control and data flow of a function of instructions: blocks, definite assignment, natural loops.

Definite assignment is the forward must-analysis of compiler textbooks (Aho et al., "Compilers",
section 9.2): a register is defined at a place if every way there writes it. Of loops those are
found that have one header, which dominates every jump back to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gi_cuda.grammar.frontends.instructions.instruction import Instruction


@dataclass(frozen=True, slots=True)
class FlowStep:
    """An instruction of a function's text in the flow graph, with its labels.

    Attributes:
        labels: the labels directly before the instruction.
        instruction: the instruction; None if there are only labels.
        targets: labels that the instruction may jump to.
        reads, writes: registers that it reads and writes, as bit masks.
    """

    labels: tuple[str, ...]
    instruction: Instruction | None
    targets: tuple[str, ...] = ()
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block.

    Attributes:
        first, last: numbers of the first step, and of the step behind the last one.
        successors: numbers of the blocks to which control may pass.
    """

    first: int
    last: int
    successors: tuple[int, ...]


class Flow:
    """The flow graph of a function's steps, in the order of the text.

    Attributes:
        steps: what it is of.
        given: the registers that are written before the first step.
        blocks: in the order of the text.
        predecessors: of each block.
        block_of: for each step, its block.
        gains: for each block, the registers that it writes.
    """

    def __init__(self, steps: Sequence[FlowStep], given: int = 0) -> None:
        self.steps, self.given = steps, given
        self.blocks = tuple(_blocks(steps))
        self.predecessors: list[list[int]] = [[] for _ in self.blocks]
        self.block_of: list[int] = []
        self.gains: list[int] = []
        for number, block in enumerate(self.blocks):
            self.block_of += [number] * (block.last - block.first)
            self.gains.append(0)
            for step in steps[block.first : block.last]:
                self.gains[number] |= step.writes
            for successor in block.successors:
                self.predecessors[successor].append(number)

    def statements_of(self, block: int) -> range:
        """Return the numbers of the steps of a block that have an instruction."""
        one = self.blocks[block]
        bare = self.steps[one.last - 1].instruction is None
        return range(one.first, one.last - bare)

    def entries(self, gains: Sequence[int]) -> list[int]:
        """Return, for each block, the registers that are written on every path to it.

        An unreachable block has all registers.

        Args:
            gains: for each block, the registers that it writes, as a bit mask.
        """
        entries = [-1] * len(self.blocks)
        if entries:
            entries[0] = self.given
        waiting = sorted(self.reached, reverse=True)
        while waiting:
            number = waiting.pop()
            leaving = entries[number] | gains[number]
            for successor in self.blocks[number].successors:
                entering = entries[successor] & leaving
                if entering != entries[successor]:
                    entries[successor] = entering
                    waiting.append(successor)
        return entries

    @cached_property
    def original_entries(self) -> tuple[int, ...]:
        """The result of :meth:`entries` for the unchanged function."""
        return tuple(self.entries(self.gains))

    @cached_property
    def defined(self) -> tuple[int, ...]:
        """For each step, the registers that are written on every path to it."""
        found = []
        for entry, block in zip(self.original_entries, self.blocks, strict=True):
            for step in self.steps[block.first : block.last]:
                found.append(entry)
                entry |= step.writes
        return tuple(found)

    @cached_property
    def reached(self) -> frozenset[int]:
        """The blocks that are reachable from the first block."""
        found: set[int] = set()
        waiting = [0] if self.blocks else []
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.blocks[number].successors
        return frozenset(found)

    @cached_property
    def dominators(self) -> tuple[int, ...]:
        """For each block, the blocks that dominate it, itself included, as a bit mask."""
        everything = (1 << len(self.blocks)) - 1
        found = [everything] * len(self.blocks)
        if found:
            found[0] = 1
        changed = True
        while changed:
            changed = False
            for number in range(1, len(found)):
                mask = everything
                for before in self.predecessors[number]:
                    mask &= found[before]
                mask |= 1 << number
                if mask != found[number]:
                    found[number], changed = mask, True
        return tuple(found)

    @cached_property
    def loops(self) -> tuple[Cycle, ...]:
        """The natural loops, in the order of their headers."""
        latches: dict[int, list[int]] = {}
        for number, block in enumerate(self.blocks):
            for successor in block.successors:
                if number in self.reached and self.dominators[number] >> successor & 1:
                    latches.setdefault(successor, []).append(number)
        return tuple(
            Cycle(header, tuple(ends), self._cycle(header, ends))
            for header, ends in sorted(latches.items())
        )

    def _cycle(self, header: int, latches: Sequence[int]) -> frozenset[int]:
        found, waiting = {header}, list(latches)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.predecessors[number]
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Cycle:
    """A natural loop.

    Attributes:
        header: the block through which the loop is entered.
        latches: the blocks that jump back to the header.
        blocks: all blocks of the loop.
    """

    header: int
    latches: tuple[int, ...]
    blocks: frozenset[int]


def _blocks(steps: Sequence[FlowStep]) -> list[Block]:
    starts = [0] if steps else []
    for at in range(1, len(steps)):
        before = steps[at - 1].instruction
        if steps[at].labels or (before is not None and before.jumps):
            starts.append(at)
    labels = {label: number for number, start in enumerate(starts) for label in steps[start].labels}
    found = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(steps)
        last = steps[end - 1]
        falls = last.instruction is None or last.instruction.falls
        following = [number + 1] if falls and end < len(steps) else []
        following += [labels[target] for target in last.targets if target in labels]
        found.append(Block(start, end, tuple(dict.fromkeys(following))))
    return found
