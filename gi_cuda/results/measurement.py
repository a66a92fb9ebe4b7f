"""What measuring one variant gave: what became of its worker, its answers, its times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Survival(StrEnum):
    """What became of the worker. Whether the answers were right is another question."""

    NORMAL = "normal"
    CRASHED = "crashed"
    HUNG = "hung"
    REFUSED = "refused"


LOADS = 3
"""How often the reference is loaded to be timed: the pairs of a measurement take turns in which of
these loads they are timed beside.

Where code comes to lie in memory decides which of its jumps a processor takes for each other. Of a
hundred loads of one file, one to four are slower than the others by a sixth to three times, for as
long as they stay where they are."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One pair of timed runs over one case, in seconds."""

    case: str
    variant: float
    reference: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """What measuring one variant gave.

    Attributes:
        ident: the variant's number.
        survival: what became of the worker.
        penalty: the oracle's penalty summed over the cases; 0 where all answers were acceptable,
            None where it never came to that.
        message: why it was wrong, crashed, hung or was refused.
        samples: every pair of timed runs.
        run_seconds, verify_seconds: what the worker spent on each: on the device's clock where it
            verified it, wall time else.
        elsewhere: whether it was run on the siblings too, if there are any.
    """

    ident: int
    survival: Survival
    penalty: float | None = None
    message: str = ""
    samples: tuple[Sample, ...] = ()
    run_seconds: float = 0.0
    verify_seconds: float = 0.0
    elsewhere: bool = False

    @property
    def correct(self) -> bool:
        """Whether it ran to its end and all its answers were acceptable."""
        return self.survival is Survival.NORMAL and self.penalty == 0
