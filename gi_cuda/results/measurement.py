"""Result of measuring one variant in a worker: survival, correctness and times."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Survival(StrEnum):
    """The way in which a run in a worker ended, regardless of right or wrong answers."""

    NORMAL = "normal"
    CRASHED = "crashed"
    HUNG = "hung"
    REFUSED = "refused"


LOADS = 3
"""Number of copies of the reference that are loaded. Successive pairs of a measurement use the
copies in turn.

The address of code decides which of its jumps share an entry in the processor's branch predictor.
Of a hundred loads of one file, one to four are slower than the others by a factor of 7/6 to 3, for
as long as they stay loaded."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One pair of timed runs over one case, in seconds."""

    case: str
    variant: float
    reference: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """Result of measuring one variant.

    Attributes:
        ident: the variant's number.
        survival: how the run in the worker ended.
        penalty: the oracle's penalty summed over the cases; 0 if all answers were acceptable, None
            if the oracle never ran.
        message: reason why the variant was wrong, crashed, hung or was refused.
        samples: every pair of timed runs.
        run_seconds, verify_seconds: time that the worker spent running and verifying, in seconds:
            by the device's clock if the device verified, else wall time.
        elsewhere: whether the variant also ran on the sibling cases, if there are any.
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
        """Tell whether the variant ran to its end and all its answers were acceptable."""
        return self.survival is Survival.NORMAL and self.penalty == 0
