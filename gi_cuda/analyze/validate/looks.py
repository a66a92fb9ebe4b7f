"""Looks at the held-out cases: each one that finds nothing makes the next one stricter.

Every search that is resumed ends with a validation on the same held-out cases. Without a count of
them, one that is resumed often enough certifies a variant that is not faster.
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
"""Measures candidates on the held-out cases with a confidence; returns what a copy of the reference
measured as, and a validation for each candidate."""


class Looked(NamedTuple):
    """Candidates on the held-out cases.

    Attributes:
        noise: a copy of the reference beside the reference.
        found: a validation for each candidate.
        failed: candidates that were right and not faster, these and all before them.
    """

    noise: SpeedUp
    found: list[Validation]
    failed: int


def look(measure: Measure[T], candidates: Sequence[T], failed: int, floor: float) -> Looked:
    """Measure candidates with the confidence that the looks before them ask for.

    After a failure, a candidate that seems faster is measured a second time, in new processes, and
    the second figures count: those of the first were chosen for being large.

    Args:
        failed: candidates that were right and not faster before.
        floor: the noise floor of the run.
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
    """Return how many candidates of a run were right on the held-out cases and not faster."""
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
