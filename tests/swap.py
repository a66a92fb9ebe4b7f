"""A kind of edit that changes two rules; no shipped kind does."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.genome import Edit, Step, Words
from gi_cuda.grammar import Operation


@dataclass(frozen=True, slots=True)
class Swap(Edit):
    """Exchange of the texts of two rules."""

    donor: str

    operator = "~"
    operation = Operation.REPLACE
    words = Words("to swap them", "swaps {place} with {donor}", "swaps", ("swapped", "with"))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return a step for each of the two rules."""
        return (
            Step(self.place, self.operation, self.donor),
            Step(self.donor, self.operation, self.place),
        )
