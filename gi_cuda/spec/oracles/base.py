"""What an oracle is made of: checks, each of which judges some or all buffers of a launch.

A penalty of 0 is acceptable; the checks that compare values give the number of values that are
wrong, a Python check whatever its function says, and anything that cannot be judged gives infinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gi_cuda.spec.locate import Files, Key
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles.compare import Array, Mask, unwritten
from gi_cuda.spec.oracles.rules import Rules
from gi_cuda.spec.table import Table

Outputs = Mapping[str, Array]
"""The judged buffers after a launch, by name."""

LONGEST_REASON = 400
"""Characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an oracle says: a penalty (0 is acceptable) and, if there is one, why."""

    penalty: float
    reason: str = ""

    @property
    def acceptable(self) -> bool:
        return self.penalty == 0

    def in_short(self) -> Judgement:
        """The same with a reason of one line of fair length: it is stored and shown for every
        variant, and a target's own function may say anything."""
        return replace(self, reason=in_short(self.reason))


def in_short(reason: str) -> str:
    """A text as one line of at most :data:`LONGEST_REASON` characters, all of them printable; what
    is cut off is told."""
    # Far more than is kept, and far less than a function may have said.
    begin = reason[: 4 * LONGEST_REASON]
    line = " ".join("".join(c if c.isprintable() else " " for c in begin).split())
    if len(reason) == len(begin) and len(line) <= LONGEST_REASON:
        return line
    return f"{line[:LONGEST_REASON].rstrip()} ... ({len(reason)} characters)"


class OutputCheck(Table, ABC):
    """One way to judge outputs: a table ``[oracle]`` of one kind, and what it means.

    A kind has a field `kind`, its own name, and one for each further key.
    """

    __slots__ = ()

    @property
    def runs(self) -> int:
        """How many reference runs it needs."""
        return 1

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers that it judges; none means all."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of what the data module returns for it alone."""
        return ()

    def located(self, files: Files, key: Key) -> Self:
        """The check with the files that it names, which are found; `key` is its table's.

        Raises:
            UserError: a file is not there, or is not as it should be.
        """
        return self

    def wider(self, times: float) -> Self:
        """The check with so many times the tolerance, where it has one."""
        return self

    def rules(self, types: Mapping[str, NumberType]) -> Rules | None:
        """Rules for each value beside that of the first reference run, for each buffer
        that it judges; None where it is not values one by one that it looks at.

        Args:
            types: of all judged buffers.
        """
        return None

    def prepare(self, runs: Sequence[Outputs]) -> Any:
        """What outputs are judged against, from those of reference runs: the first one's."""
        return runs[0]

    @abstractmethod
    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Any) -> Judgement:
        """Judge `outputs`, all of which have the type and length of the reference's.

        Args:
            case: the case's values by name.
            reference: from `prepare`.
        """


class ValueCheck(OutputCheck):
    """A check that compares value by value: each wrong one is a penalty point."""

    __slots__ = ()

    @abstractmethod
    def wrong(self, got: Array, reference: Any) -> Mask:
        """Which values of a buffer are wrong; `reference` is what `prepare` gave for it."""

    def expected(self, reference: Any, index: int) -> object:
        """What a value should have been, for the reason."""
        return shown(reference[index])

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Any) -> Judgement:
        """The number of wrong values; the reason tells of the first one."""
        total = 0
        reason = ""
        for name in self.buffers or outputs:
            mask = self.wrong(outputs[name], reference[name])
            count = int(np.count_nonzero(mask))
            if count and not reason:
                reason = self.said(name, outputs[name], reference[name], mask)
            total += count
        return Judgement(float(total), reason)

    def judge_part(self, name: str, first: int, got: Array, reference: Any) -> Judgement:
        """The number of wrong values in a stretch of an output that begins with the value at
        `first`."""
        mask = self.wrong(got, reference)
        if not mask.any():
            return Judgement(0.0)
        reason = self.said(name, got, reference, mask, first)
        return Judgement(float(np.count_nonzero(mask)), reason)

    def said(
        self, name: str, got: Array, reference: Any, mask: Mask, first: int | None = None
    ) -> str:
        """A sentence of the first wrong value."""
        index, looked = int(mask.argmax()), "" if first is None else " that were looked at"
        return (
            f"{name}[{index + (first or 0)}] is {shown(got[index])}, "
            f"expected {self.expected(reference, index)} "
            f"({np.count_nonzero(mask)} of {mask.size} values{looked} wrong)"
        )


def shown(value: Any) -> str:
    """Return a value of an output, for people."""
    return "not written" if unwritten(value) else f"{value}"
