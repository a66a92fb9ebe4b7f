"""Is a winner really faster? Held-out cases, no loop guards, several builds and processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.evaluate.replicates import Candidate, Replicates
from gi_cuda.results.speed_up import Reading, SpeedUp, speed_up


@dataclass(frozen=True, slots=True)
class Validation:
    """What became of one candidate on the held-out cases.

    Attributes:
        correct: whether it built, ran and was right everywhere and every time.
        message: why not.
        overall: geometric mean over the cases; None where it was not correct.
        cases: each case's own.
    """

    correct: bool
    message: str = ""
    overall: SpeedUp | None = None
    cases: Mapping[str, SpeedUp] | None = None

    @property
    def faster(self) -> bool:
        """Whether it is correct and its whole interval lies above 1."""
        return self.overall is not None and self.overall.low > 1


def validate(replicates: Replicates, candidates: Sequence[Candidate]) -> list[Validation]:
    """Measure candidates beside the reference, all compiled in one batch."""
    return [judged(reading) for reading in replicates.read(candidates)]


def judged(reading: Reading) -> Validation:
    """What a reading on the held-out cases says."""
    if not reading.right:
        return Validation(False, reading.failure)
    cases = dict.fromkeys(sample.case for sample in reading.builds[0])
    by_case = {c: [[s for s in one if s.case == c] for one in reading.builds] for c in cases}
    return Validation(
        True,
        overall=speed_up(reading.builds),
        cases={case: speed_up(some) for case, some in by_case.items()},
    )
