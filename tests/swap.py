"""A kind of edit that touches two rules; none of the shipped ones does."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.genome import Edit, Step, Words
from gi_cuda.grammar import Operation


@dataclass(frozen=True, slots=True)
class Swap(Edit):
    """Each of two rules has the other one's text."""

    donor: str

    operator = "~"
    operation = Operation.REPLACE
    words = Words("to swap them", "swaps {place} with {donor}", "swaps", ("swapped", "with"))

    @property
    def steps(self) -> tuple[Step, ...]:
        """One for each of the two."""
        return (
            Step(self.place, self.operation, self.donor),
            Step(self.donor, self.operation, self.place),
        )
