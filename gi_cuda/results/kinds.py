"""What several kinds of devices say of one variant, as one answer.

Times of two kinds are never compared. Each kind times a variant beside the reference on a device of
its own, and only the ratios, of which a logarithm is as good on one kind as on another, are put
together. A kind counts as much as any other, however long its launches take.
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
    """What a search is for where there are several kinds of devices."""

    EACH = "each"
    GEOMEAN = "geomean"
    WORST = "worst"


_DECIDING = (Verdict.SLOWER, Verdict.UNCERTAIN, Verdict.SAME, Verdict.FASTER)
"""Of the verdicts of several kinds the first of these is that of the worst."""


def on_all_kinds(
    objective: Objective, found: Mapping[str, Evaluation], floors: Mapping[str, float]
) -> Evaluation:
    """What evaluating an individual on several kinds gave, as one evaluation.

    Where it is not right on one of them, it is what it is there.

    ``geomean``: each repetition's ratio is the geometric mean over the kinds and their cases, as
    over the cases of one kind alone; verdict and interval are those of these ratios. Repetitions of
    different kinds have nothing to do with each other, so which of them are put together does not
    matter; as many count as the kind with the fewest has. The noise floor is the geometric mean of
    the kinds', since no mean can be further off than that.

    ``worst``: the kind with the largest ratio counts. It is faster where every kind's own verdict
    is, each by its own noise floor, so that the chance of a mistake is no larger than on one kind
    (Berger's intersection-union test, Technometrics 24, 1982); slower where one is. The upper end
    of its interval holds as surely as that of one kind, the lower end with a chance of a mistake of
    at most that of all kinds together.

    Args:
        found: by kind.
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
    """What readings of one candidate on several kinds say, on the held-out cases.

    Its cases are those of each kind. ``geomean``: each build's ratios are put together as those of
    :func:`on_all_kinds`, and the builds are what its interval is made of. ``worst``: the smallest
    speed-up, and the smallest ends of the kinds' intervals.

    Args:
        found: by kind.
        confidence: of the interval over all cases.
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
    """The samples of all kinds, the case of each with its kind."""
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
