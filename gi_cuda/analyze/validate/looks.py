"""Validate on the held-out cases, with stricter intervals after each failure.

Every resumed search ends with a validation on the same held-out cases. Without a correction, a
search that is resumed often enough would certify a variant that is not faster (multiple testing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.results.evaluation import Validation
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import confidence_after, is_faster
from gi_cuda.runs.run import Run

T = TypeVar("T")
Measure: TypeAlias = Callable[[Sequence[T], float], tuple[SpeedUp, list[Validation]]]
"""A function that measures candidates on the held-out cases with a given confidence. It returns the
speed-up of a copy of the reference, and a validation for each candidate."""


class Looked(NamedTuple):
    """Result of measuring candidates on the held-out cases.

    Attributes:
        noise: speed-up of a copy of the reference.
        found: validation of each candidate.
        failed: number of candidates so far, these included, that were right but not faster.
    """

    noise: SpeedUp
    found: list[Validation]
    failed: int


def look(measure: Measure[T], candidates: Sequence[T], failed: int, floor: float) -> Looked:
    """Measure candidates with a confidence that depends on earlier failures.

    After a failure, a candidate that seems faster is measured again in new processes, and only the
    second result counts, because the first one was selected for being large.

    Args:
        measure: measures candidates.
        candidates: the candidates.
        failed: number of earlier candidates that were right but not faster.
        floor: noise floor of the run, as a fraction.
    """
    confidence = confidence_after(failed)
    noise, found = measure(candidates, confidence)
    again = [n for n, one in enumerate(found) if failed and is_faster(one.overall, noise, floor)]
    if again:
        later, second = measure([candidates[n] for n in again], confidence)
        noise = max(noise, later, key=lambda one: one.high)
        for n, one in zip(again, second, strict=True):
            found[n] = one
    slow = sum(one.correct and not is_faster(one.overall, noise, floor) for one in found)
    return Looked(noise, found, failed + slow)


def failed_looks(run: Run) -> int:
    """Return the number of a run's candidates that were right on held-out cases but not faster."""
    return int(run.store.get("failed_looks", 0))


def look_at_held_out(run: Run, candidates: Sequence[Candidate]) -> Looked:
    """Validate candidates of a run on its held-out cases, and count those that fail."""

    def measure(some: Sequence[Candidate], confidence: float) -> tuple[SpeedUp, list[Validation]]:
        copy, *found = run.validate([unmodified(run.subject), *some], confidence=confidence)
        if copy.overall is None:
            raise RuntimeError(f"a copy of the reference fails: {copy.message}")
        return copy.overall, found

    looked = look(measure, candidates, failed_looks(run), run.baseline.floor)
    run.store.put(failed_looks=looked.failed)
    return looked
