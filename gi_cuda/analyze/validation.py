"""Is a winner really faster? Held-out cases, no loop guards, several fresh processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gi_cuda.build.batch import build_batch
from gi_cuda.build.model import Binary, BuildFailure, Compiler, Variant
from gi_cuda.execute.model import Measure, Measurement, Program, Refused, Sample, Sampling
from gi_cuda.execute.pool import Lost, Pool
from gi_cuda.execute.statistics import bootstrap_interval, ratios
from gi_cuda.subject import Subject
from gi_cuda.target import Configuration

PROCESSES = 3
"""Fresh processes that a validation measures in."""

PAIRS = 21
"""Pairs of launches in each of them."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Reference time over variant time, with its bootstrap 95 % interval; above 1 is faster."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source to be validated: compiled with its macros, launched as its configuration says."""

    text: str
    configuration: Configuration
    macros: Mapping[str, str]


def speed_up(samples: Sequence[Sample]) -> SpeedUp:
    """The speed-up that pairs of times show: the median, geometric mean over the cases."""
    values = ratios(samples)
    low, high = bootstrap_interval(values)
    return SpeedUp(1 / float(np.median(values)), 1 / high, 1 / low)


def validate(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    candidates: Sequence[Candidate],
    cases: Sequence[str],
    limit: float,
) -> list[Validation]:
    """Measure candidates beside the reference, all compiled in one batch.

    Args:
        folder: for binaries.
        cases: what to measure on; the pool's session must have them.
        limit: seconds after which a launch counts as hung.
    """
    original = subject.original.configuration
    reference = Candidate(subject.device.source.text, original, subject.macros(original))
    everything = [reference, *candidates]
    variants = [
        Variant(i, c.text, c.macros, subject.options(c.configuration))
        for i, c in enumerate(everything)
    ]
    built = build_batch(compiler, variants, folder)
    base = built[0]
    if isinstance(base, BuildFailure):
        raise RuntimeError(f"the reference no longer compiles: {base.message}")
    sampling = Sampling(screen=PAIRS, most=PAIRS, limit=limit)
    program = _program(base, reference, cases)
    answers = []
    for i, candidate in enumerate(candidates, start=1):
        one = built[i]
        if isinstance(one, BuildFailure):
            answers.append(Validation(False, f"does not compile: {one.message}"))
        else:
            variant = _program(one, candidate, cases)
            answers.append(_validate(pool, Measure(variant, program, sampling)))
    return answers


def _program(binary: Binary, candidate: Candidate, cases: Sequence[str]) -> Program:
    return Program(binary, dict(candidate.configuration), tuple(cases))


def _validate(pool: Pool[int], request: Measure) -> Validation:
    samples: list[Sample] = []
    for _ in range(PROCESSES):
        answer = pool.one(request)
        if isinstance(answer, Lost):
            return Validation(False, f"{answer.survival}: {answer.message}")
        if isinstance(answer, Refused):
            return Validation(False, f"refused: {answer.message}")
        assert isinstance(answer, Measurement)
        if not answer.correct:
            return Validation(False, f"wrong: {answer.message}")
        samples += answer.samples
    by_case = {s.case: [t for t in samples if t.case == s.case] for s in samples}
    return Validation(
        True,
        overall=speed_up(samples),
        cases={case: speed_up(some) for case, some in by_case.items()},
    )
