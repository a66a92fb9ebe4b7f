"""Records of evaluating an individual on the train cases and of validating it on held-out cases."""

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
"""A function from ratios and a noise floor to a verdict."""


class Outcome(StrEnum):
    """One word that sums up an :class:`Evaluation`, for tables."""

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
        built: whether the individual compiled.
        survival: how the run in the worker ended; None if the individual was not built.
        penalty: the oracle's penalty, 0 if all answers were right; None if the oracle never ran.
        verdict: speed relative to the reference; None if the answers were not acceptable.
        ratio: median of variant / reference time; below 1 is faster.
        low, high: 95 % interval of the ratio.
        message: reason given by the compiler, the worker or the oracle.
        samples: every pair of timed runs, seconds.
        run_seconds, verify_seconds: wall time that the worker spent running and verifying.
        code_key: key of the machine code and launch configuration; None if the back end does not
            give one.
        resources: registers, spills, shared memory; empty if the back end does not give them.
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
        """The outcome that sums up the record."""
        if not self.built:
            return Outcome.NOT_BUILT
        if self.survival is not Survival.NORMAL:
            return Outcome(str(self.survival))
        if self.verdict is None:
            return Outcome.WRONG
        return Outcome(str(self.verdict))

    @property
    def rank(self) -> float | None:
        """Sort key of individuals, the best first: the upper end of the ratio's interval, or the
        ratio itself without an interval; None without a ratio."""
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
        """Standard deviation of the measured ratio, estimated from its interval; 0 if unknown."""
        return spread_of_interval(self.low, self.high)

    def _times(self) -> list[float]:
        return [sample.variant for sample in self.samples]

    @property
    def right(self) -> bool:
        """Tell whether the individual ran to its end and all its answers were acceptable."""
        return self.survival is Survival.NORMAL and self.penalty == 0

    @property
    def harmful(self) -> bool:
        """Tell whether the individual crashed or hung."""
        return self.survival in (Survival.CRASHED, Survival.HUNG)

    @property
    def selectable(self) -> bool:
        """Tell whether the individual may become a parent or the winner."""
        return is_selectable(self.verdict)


def not_built(message: str) -> Evaluation:
    """Return the evaluation of an individual that did not compile."""
    return Evaluation(built=False, message=message)


def lost(survival: Survival, message: str) -> Evaluation:
    """Return the evaluation of an individual whose worker ended abnormally."""
    return Evaluation(built=True, survival=survival, message=message)


def measured(measurement: Measurement, floor: float, judge: Judge = verdict_on_pairs) -> Evaluation:
    """Return the evaluation of an individual whose worker returned a measurement.

    Args:
        measurement: the worker's answer.
        floor: noise floor as a fraction.
        judge: gives the verdict, from the ratios and the noise floor.
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
"""Message of a provisional validation."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Result of running one candidate on the held-out cases.

    Attributes:
        correct: whether the candidate built, ran and was right on every case, every time.
        message: reason why the candidate is not correct.
        overall: speed-up, geometric mean over the cases; None if the candidate is not correct.
        cases: speed-up by case.
        watched: cases on which a race detector ran the candidate and found no race.
        provisional: whether the time limit came before the candidate was measured in fresh
            processes and went through the checks of winners. Only a short measurement exists.
    """

    correct: bool
    message: str = ""
    overall: SpeedUp | None = None
    cases: Mapping[str, SpeedUp] | None = None
    watched: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def faster(self) -> bool:
        """Tell whether the candidate is correct and certainly faster than the reference."""
        return is_faster(self.overall)


def validation(reading: Reading, confidence: float = REPEATED) -> Validation:
    """Return the validation that a reading on the held-out cases amounts to.

    Args:
        reading: pairs of times of the candidate, by build.
        confidence: confidence of the interval over all cases, which decides.
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
