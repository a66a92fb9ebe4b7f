"""Base classes of the checks of an oracle. A check judges some or all buffers of a launch.

A penalty of 0 is acceptable. Checks that compare values give the number of wrong values. A Python
check gives the result of its function. Outputs that cannot be judged get the penalty infinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.oracles.compare import Array, Mask, unwritten
from gi_cuda.spec.oracles.rules import Rules
from gi_cuda.spec.toml_file.locate import Files, Key
from gi_cuda.spec.toml_file.table import Table

Outputs = Mapping[str, Array]
"""The judged buffers after a launch, by name."""

LONGEST_REASON = 400
"""Largest length of a reason, characters."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on outputs: a penalty (0 is acceptable) and the reason for it."""

    penalty: float
    reason: str = ""

    @property
    def acceptable(self) -> bool:
        return self.penalty == 0

    def in_short(self) -> Judgement:
        """Shorten the reason to one line.

        Reasons are stored and shown for every variant, and a target's function may return any text.
        """
        return replace(self, reason=in_short(self.reason))


def in_short(reason: str) -> str:
    """Shorten a text to one line of at most :data:`LONGEST_REASON` printable characters.

    If the text is cut, its length is appended.
    """
    # A function may return a very long text, so only the first part is processed.
    begin = reason[: 4 * LONGEST_REASON]
    line = " ".join("".join(c if c.isprintable() else " " for c in begin).split())
    if len(reason) == len(begin) and len(line) <= LONGEST_REASON:
        return line
    return f"{line[:LONGEST_REASON].rstrip()} ... ({len(reason)} characters)"


class OutputCheck(Table, ABC):
    """Base class of checks of outputs; each kind of ``[oracle]`` is a subclass.

    A subclass has a field `kind` with the name of the kind, and a field for each further key.
    """

    __slots__ = ()

    @property
    def runs(self) -> int:
        """Number of reference runs that the check needs."""
        return 1

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers that the check judges; empty: all."""
        return ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the extras of the data module that the check uses."""
        return ()

    def located(self, files: Files, key: Key) -> Self:
        """Return the check with absolute paths of its files.

        Args:
            files: resolver of paths.
            key: key of the check's table.

        Raises:
            UserError: a file does not exist.
        """
        return self

    def wider(self, times: float) -> Self:
        """Return the check with its tolerance, if it has one, multiplied by `times`."""
        return self

    def rules(self, types: Mapping[str, NumberType]) -> Rules | None:
        """Return rules that compare each value with that of the first reference run.

        Args:
            types: types of all judged buffers.

        Returns:
            Rules for each buffer that the check judges; None if the check does not judge values
            one by one.
        """
        return None

    def prepare(self, runs: Sequence[Outputs]) -> Any:
        """Return the data that outputs are judged against: by default, the first run's outputs.

        Args:
            runs: outputs of reference runs, at least `self.runs`.
        """
        return runs[0]

    @abstractmethod
    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Any) -> Judgement:
        """Judge the outputs of a launch.

        Args:
            case: the case's values by name.
            outputs: the judged buffers; they have the types and lengths of the reference's.
            reference: result of `prepare`.
        """


class ValueCheck(OutputCheck):
    """Base class of checks that compare value by value; the penalty counts wrong values."""

    __slots__ = ()

    @abstractmethod
    def wrong(self, got: Array, reference: Any) -> Mask:
        """Return the mask of wrong values of a buffer.

        Args:
            got: values of the buffer.
            reference: result of `prepare` for the buffer.
        """

    def expected(self, reference: Any, index: int) -> object:
        """Return the expected value at an index, for the reason."""
        return shown(reference[index])

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Any) -> Judgement:
        """Count the wrong values; the reason describes the first one."""
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
        """Count the wrong values in a part of an output.

        Args:
            name: name of the output.
            first: index of the part's first value.
            got: the part.
            reference: the same part of the reference.
        """
        mask = self.wrong(got, reference)
        if not mask.any():
            return Judgement(0.0)
        reason = self.said(name, got, reference, mask, first)
        return Judgement(float(np.count_nonzero(mask)), reason)

    def said(
        self, name: str, got: Array, reference: Any, mask: Mask, first: int | None = None
    ) -> str:
        """Describe the first wrong value.

        Args:
            name: name of the output.
            got: values of the output, or of a part of it.
            reference: result of `prepare` for the output.
            mask: the wrong values.
            first: index of the part's first value; None: `got` is the whole output.
        """
        index, looked = int(mask.argmax()), "" if first is None else " that were looked at"
        return (
            f"{name}[{index + (first or 0)}] is {shown(got[index])}, "
            f"expected {self.expected(reference, index)} "
            f"({np.count_nonzero(mask)} of {mask.size} values{looked} wrong)"
        )


def shown(value: Any) -> str:
    """Return a value of an output, for people."""
    return "not written" if unwritten(value) else f"{value}"
