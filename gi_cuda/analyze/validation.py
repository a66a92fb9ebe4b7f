"""Is a winner really faster? Held-out cases, no loop guards, several builds and processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gi_cuda.build.batch import build_batch
from gi_cuda.build.model import Binary, BuildFailure, Compiler, Variant
from gi_cuda.execute.model import Measure, Measurement, Program, Refused, Sample, Sampling
from gi_cuda.execute.pool import Lost, Pool
from gi_cuda.execute.statistics import cluster_interval, ratios
from gi_cuda.subject import Subject
from gi_cuda.target import Configuration

PLACES = 5
"""Builds of one source that are measured, each in a process of its own.

Where code comes to lie in a binary changes its speed by some percent. A speed-up that belongs to
the source shows wherever it lies."""

PAIRS = 15
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


def speed_up(places: Sequence[Sequence[Sample]]) -> SpeedUp:
    """The speed-up that pairs of times show, over all builds.

    The median over builds of each build's median ratio; its interval resamples the builds and,
    within each, the pairs.
    """
    values = [ratios(samples) for samples in places]
    low, high = cluster_interval(values)
    middle = float(np.median([np.median(one) for one in values]))
    return SpeedUp(1 / middle, 1 / high, 1 / low)


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
    # Copies of all sources take turns in the batch, so that none of them has a place of its own.
    sources = [reference, *candidates] * PLACES
    variants = [
        Variant(i, c.text, c.macros, subject.options(c.configuration))
        for i, c in enumerate(sources)
    ]
    built = build_batch(compiler, variants, folder)
    stride = len(candidates) + 1
    sampling = Sampling(screen=PAIRS, most=PAIRS, limit=limit)
    answers = []
    for first in range(1, stride):
        pairs = [(built[at], built[at - first]) for at in range(first, len(sources), stride)]
        requests: list[Measure] = []
        validation: Validation | None = None
        for variant, base in pairs:
            if isinstance(base, BuildFailure):
                raise RuntimeError(f"the reference no longer compiles: {base.message}")
            if isinstance(variant, BuildFailure):
                validation = Validation(False, f"does not compile: {variant.message}")
                break
            mine = _program(variant, sources[first], cases)
            requests.append(Measure(mine, _program(base, reference, cases), sampling))
        answers.append(validation or _validate(pool, requests))
    return answers


def _program(binary: Binary, candidate: Candidate, cases: Sequence[str]) -> Program:
    return Program(binary, dict(candidate.configuration), tuple(cases))


def _validate(pool: Pool[int], requests: Sequence[Measure]) -> Validation:
    places: list[tuple[Sample, ...]] = []
    for request in requests:
        answer = pool.one(request)
        if isinstance(answer, Lost):
            return Validation(False, f"{answer.survival}: {answer.message}")
        if isinstance(answer, Refused):
            return Validation(False, f"refused: {answer.message}")
        assert isinstance(answer, Measurement)
        if not answer.correct:
            return Validation(False, f"wrong: {answer.message}")
        places.append(answer.samples)
    cases = dict.fromkeys(sample.case for sample in places[0])
    by_case = {c: [[s for s in place if s.case == c] for place in places] for c in cases}
    return Validation(
        True,
        overall=speed_up(places),
        cases={case: speed_up(some) for case, some in by_case.items()},
    )
