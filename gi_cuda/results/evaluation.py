"""What evaluating one individual gave: its build, its worker's survival, its answers, its speed;
and what measuring it on the held-out cases gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.results.speed_up import REPEATED, Reading, SpeedUp, speed_up
from gi_cuda.results.statistics import ratios
from gi_cuda.results.verdict import (
    Verdict,
    interval_of_pairs,
    is_faster,
    is_selectable,
    rank,
    spread_of_interval,
    verdict_on_pairs,
)

Judge: TypeAlias = Callable[[np.ndarray, float], Verdict]
"""Gives the verdict on ratios, for a noise floor."""


class Outcome(StrEnum):
    """One word for tables. The facts behind it stay apart in :class:`Evaluation`."""

    NOT_BUILT = "not built"
    CRASHED = "crashed"
    HUNG = "hung"
    REFUSED = "refused"
    WRONG = "wrong"
    SLOWER = "slower"
    SAME = "same"
    UNCERTAIN = "uncertain"
    FASTER = "faster"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The record of one individual's evaluation.

    Attributes:
        built: whether it compiled.
        survival: what became of its worker; None where it was not built.
        penalty: the oracle's penalty; None where it never came to that.
        verdict: its speed beside the reference; None where its answers were not acceptable.
        ratio: median of variant / reference time; below 1 is faster.
        low, high: 95 % interval of the ratio.
        message: the compiler's, the worker's or the oracle's reason.
        samples: every pair of timed runs, seconds.
        run_seconds, verify_seconds: wall time spent in the worker.
        code_key: key of its machine code with its launch, where the back end knows it.
        resources: registers, spills, shared memory, where the back end knows them.
    """

    built: bool
    survival: Survival | None = None
    penalty: float | None = None
    verdict: Verdict | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    message: str = ""
    samples: tuple[Sample, ...] = ()
    run_seconds: float = 0.0
    verify_seconds: float = 0.0
    code_key: bytes | None = None
    resources: Mapping[str, int] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """The word for tables."""
        if not self.built:
            return Outcome.NOT_BUILT
        if self.survival is not Survival.NORMAL:
            return Outcome(str(self.survival))
        if self.verdict is None:
            return Outcome.WRONG
        return Outcome(str(self.verdict))

    @property
    def rank(self) -> float | None:
        """What individuals are ordered by, the smallest first: what the ratio surely is at most;
        None without one."""
        return rank(self.ratio, self.high)

    @property
    def mean(self) -> float | None:
        """Mean of the variant's own times, seconds; None without samples."""
        return float(np.mean(self._times())) if self.samples else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the variant's own times, seconds; None without samples."""
        if not self.samples:
            return None
        return float(np.std(self._times(), ddof=1)) if len(self.samples) > 1 else 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of the ratio as it was measured; 0 where it is not known."""
        return spread_of_interval(self.low, self.high)

    def _times(self) -> list[float]:
        return [sample.variant for sample in self.samples]

    @property
    def right(self) -> bool:
        """Whether it ran to its end and all its answers were acceptable."""
        return self.survival is Survival.NORMAL and self.penalty == 0

    @property
    def harmful(self) -> bool:
        """Whether it crashed or hung."""
        return self.survival in (Survival.CRASHED, Survival.HUNG)

    @property
    def selectable(self) -> bool:
        """Whether it may become a parent or the winner."""
        return is_selectable(self.verdict)


def not_built(message: str) -> Evaluation:
    """An individual that did not compile."""
    return Evaluation(built=False, message=message)


def lost(survival: Survival, message: str) -> Evaluation:
    """An individual that took its worker down."""
    return Evaluation(built=True, survival=survival, message=message)


def measured(measurement: Measurement, floor: float, judge: Judge = verdict_on_pairs) -> Evaluation:
    """An individual whose worker lived to tell.

    Args:
        measurement: what the worker answered.
        floor: noise floor as a fraction; a verdict needs an interval beyond it.
        judge: says what its ratios and the noise floor amount to.
    """
    values = ratios(measurement.samples) if measurement.correct else np.empty(0)
    timed = len(values) > 0
    low, high = interval_of_pairs(values) if timed else (None, None)
    return Evaluation(
        built=True,
        survival=measurement.survival,
        penalty=measurement.penalty,
        verdict=judge(values, floor) if timed else None,
        ratio=float(np.median(values)) if timed else None,
        low=low,
        high=high,
        message=measurement.message,
        samples=measurement.samples,
        run_seconds=measurement.run_seconds,
        verify_seconds=measurement.verify_seconds,
    )


PROVISIONAL = (
    "time was up after a short look at it: it is not yet measured in new processes, watched for"
    " races and tried with other inputs"
)
"""The words for a validation that is provisional."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What became of one candidate on the held-out cases.

    Attributes:
        correct: whether it built, ran and was right everywhere and every time.
        message: why not.
        overall: geometric mean over the cases; None where it was not correct.
        cases: each case's own.
        watched: the cases on which a detector of races saw it, and found none.
        provisional: whether it is known by a short look alone: the time was up before it was
            measured in processes that ran nothing before and seen by the checks of winners.
    """

    correct: bool
    message: str = ""
    overall: SpeedUp | None = None
    cases: Mapping[str, SpeedUp] | None = None
    watched: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def faster(self) -> bool:
        """Whether it is correct and certainly faster than the reference."""
        return is_faster(self.overall)


def validation(reading: Reading, confidence: float = REPEATED) -> Validation:
    """Return what a reading on the held-out cases says.

    Args:
        confidence: of the interval over all cases, which decides.
    """
    if not reading.right:
        return Validation(False, reading.failure)
    cases = dict.fromkeys(sample.case for sample in reading.builds[0])
    by_case = {c: [[s for s in one if s.case == c] for one in reading.builds] for c in cases}
    return Validation(
        True,
        overall=speed_up(reading.builds, confidence),
        cases={case: speed_up(some) for case, some in by_case.items()},
    )
