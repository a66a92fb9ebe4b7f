"""Combine evaluations of one variant on several kinds of devices into one evaluation.

Times of two kinds are never compared. Each kind times the variant and the reference on its own
device. Only the logarithms of the ratios variant / reference are combined. Every kind has the same
weight, however long its launches take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from gi_cuda.results.evaluation import Evaluation, Validation, measured, validation
from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.results.speed_up import REPEATED, Reading, SpeedUp
from gi_cuda.results.verdict import Verdict


class Objective(StrEnum):
    """Objective of a search on several kinds of devices."""

    EACH = "each"
    GEOMEAN = "geomean"
    WORST = "worst"


_DECIDING = (Verdict.SLOWER, Verdict.UNCERTAIN, Verdict.SAME, Verdict.FASTER)
"""Verdicts, the worst first. The worst verdict of all kinds is the verdict of the variant."""


def on_all_kinds(
    objective: Objective, found: Mapping[str, Evaluation], floors: Mapping[str, float]
) -> Evaluation:
    """Combine the evaluations of an individual on several kinds into one evaluation.

    If the individual is not right on a kind, the evaluation on that kind is the result.

    ``geomean``: each repetition's ratio is the geometric mean over all cases of all kinds. Verdict
    and interval are computed from these ratios. Repetitions on different kinds are independent, so
    it does not matter which are combined; the kind with the fewest repetitions sets their number.
    The noise floor is the geometric mean of the kinds' noise floors, because the error of the mean
    cannot exceed it.

    ``worst``: the kind with the largest ratio counts. The verdict is "faster" only if it is so on
    every kind, each with its own noise floor. The chance of a false "faster" is then no larger than
    on one kind (Berger's intersection-union test, Technometrics 24, 1982). The verdict is "slower"
    if it is so on any kind. The upper end of the interval is as reliable as on one kind; the error
    rate of the lower end is at most the sum of the kinds' error rates.

    Args:
        objective: ``geomean`` or ``worst``.
        found: evaluations by kind.
        floors: noise floors as fractions, by kind.
    """
    for kind, one in found.items():
        if not one.right:
            return replace(one, message=_on(kind, one.message), code_key=None)
    together = Measurement(
        0,
        Survival.NORMAL,
        0.0,
        _messages(found),
        _labelled({kind: one.samples for kind, one in found.items()}),
        sum(one.run_seconds for one in found.values()),
        sum(one.verify_seconds for one in found.values()),
    )
    joint = measured(together, _mean_floor(floors[kind] for kind in found))
    return _worst(joint, found.values()) if objective is Objective.WORST else joint


def _worst(joint: Evaluation, found: Iterable[Evaluation]) -> Evaluation:
    timed = [one for one in found if None not in (one.verdict, one.ratio, one.low, one.high)]
    verdicts = {one.verdict for one in timed}
    return replace(
        joint,
        verdict=next(one for one in _DECIDING if one in verdicts),
        ratio=max(one.ratio or 0.0 for one in timed),
        low=max(one.low or 0.0 for one in timed),
        high=max(one.high or 0.0 for one in timed),
    )


def validated_on_all_kinds(
    objective: Objective, found: Mapping[str, Reading], confidence: float = REPEATED
) -> Validation:
    """Combine the readings of a candidate on the held-out cases of several kinds.

    The result's cases are the cases of all kinds. ``geomean``: the ratios of each build are
    combined as in :func:`on_all_kinds`, and the interval is computed over builds. ``worst``: the
    smallest speed-up, and the smallest lower and upper ends of the kinds' intervals.

    Args:
        objective: ``geomean`` or ``worst``.
        found: readings by kind.
        confidence: confidence of the interval over all cases.
    """
    for kind, one in found.items():
        if not one.right:
            return Validation(False, _on(kind, one.failure))
    builds = zip(*(one.builds for one in found.values()), strict=False)
    joint = validation(
        Reading(tuple(_labelled(dict(zip(found, build, strict=True))) for build in builds)),
        confidence,
    )
    if objective is not Objective.WORST:
        return joint
    each = (validation(one, confidence).overall for one in found.values())
    kinds = [one for one in each if one is not None]
    value, low, high = (min(ends) for ends in zip(*map(_ends, kinds), strict=True))
    return replace(joint, overall=SpeedUp(value, low, high))


def _ends(one: SpeedUp) -> tuple[float, float, float]:
    return one.value, one.low, one.high


def _labelled(found: Mapping[str, Sequence[Sample]]) -> tuple[Sample, ...]:
    """Return the samples of all kinds, with the kind appended to the name of each case."""
    return tuple(
        replace(one, case=f"{one.case} on {kind}") for kind, some in found.items() for one in some
    )


def _mean_floor(floors: Iterable[float]) -> float:
    logs = [math.log1p(floor) for floor in floors]
    return math.expm1(sum(logs) / len(logs))


def _messages(found: Mapping[str, Evaluation]) -> str:
    return "; ".join(_on(kind, one.message) for kind, one in found.items() if one.message)


def _on(kind: str, message: str) -> str:
    return f"on {kind}: {message}"
