"""Joint result of a variant on several kinds of devices."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.results.evaluation import Evaluation, Outcome, lost, measured, not_built, validation
from gi_cuda.results.kinds import Objective, on_all_kinds, validated_on_all_kinds
from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.results.speed_up import Reading
from gi_cuda.results.verdict import Verdict

FLOORS = {"old": 0.02, "new": 0.01}
NOISE = 0.003


def samples(
    ratio: float, rng: random.Random, pairs: int = 15, noise: float = NOISE
) -> tuple[Sample, ...]:
    """Pairs of times; a kind's own seconds are its own."""
    seconds = rng.choice([1e-4, 3.0])
    return tuple(
        Sample("train", seconds * ratio * rng.gauss(1, noise), seconds) for _ in range(pairs)
    )


def evaluations(old: float, new: float, seed: int = 1, **how: float) -> dict[str, Evaluation]:
    rng = random.Random(seed)
    return {
        kind: measured(
            Measurement(0, Survival.NORMAL, 0.0, samples=samples(ratio, rng, **how)),  # type: ignore[arg-type]
            FLOORS[kind],
        )
        for kind, ratio in (("old", old), ("new", new))
    }


@pytest.mark.parametrize(
    ("old", "new", "geomean", "worst"),
    [
        (0.8, 0.9, Verdict.FASTER, Verdict.FASTER),
        (0.8, 1.0, Verdict.FASTER, Verdict.SAME),
        (0.5, 1.2, Verdict.FASTER, Verdict.SLOWER),
        (0.8, 1.25, Verdict.SAME, Verdict.SLOWER),
        (0.9, 1.4, Verdict.SLOWER, Verdict.SLOWER),
        (1.0, 1.0, Verdict.SAME, Verdict.SAME),
    ],
)
def test_what_is_faster_by_either_objective(
    old: float, new: float, geomean: Verdict, worst: Verdict
) -> None:
    for seed in range(5):
        found = evaluations(old, new, seed)
        assert on_all_kinds(Objective.GEOMEAN, found, FLOORS).verdict is geomean
        assert on_all_kinds(Objective.WORST, found, FLOORS).verdict is worst


@given(st.floats(0.3, 3), st.floats(0.3, 3), st.integers(0, 9))
def test_the_ratio_is_the_mean_of_logarithms_or_the_largest(
    old: float, new: float, seed: int
) -> None:
    found = evaluations(old, new, seed)
    joint = on_all_kinds(Objective.GEOMEAN, found, FLOORS)
    assert joint.ratio == pytest.approx(math.sqrt(old * new), rel=5 * NOISE)
    assert joint.low is not None
    assert joint.high is not None
    assert joint.low <= joint.ratio <= joint.high
    worst = on_all_kinds(Objective.WORST, found, FLOORS)
    assert worst.ratio == max(one.ratio or 0.0 for one in found.values())
    assert worst.high == max(one.high or 0.0 for one in found.values())
    assert worst.rank is not None
    assert joint.rank is not None
    assert worst.rank >= joint.rank * (1 - 5 * NOISE)
    assert {one.case for one in joint.samples} == {"train on old", "train on new"}


def test_the_interval_of_a_geometric_mean_holds_as_often_as_it_says() -> None:
    """At least 95 % of 400 measurements of one truth, with more noise on one kind."""
    rng, truth, holds = random.Random(7), math.log(0.9) / 2 + math.log(1.2) / 2, 0
    for _ in range(400):
        found = {
            kind: measured(
                Measurement(0, Survival.NORMAL, 0.0, samples=samples(ratio, rng, 15, noise)), 0.01
            )
            for kind, ratio, noise in (("old", 0.9, 0.03), ("new", 1.2, 0.01))
        }
        joint = on_all_kinds(Objective.GEOMEAN, found, FLOORS)
        assert joint.low is not None
        assert joint.high is not None
        holds += joint.low <= math.exp(truth) <= joint.high
    assert holds >= 0.93 * 400


@pytest.mark.parametrize(
    ("objective", "old", "new"),
    [(Objective.WORST, 0.5, 0.99), (Objective.GEOMEAN, 0.5, 2 * 0.985**2)],
)
def test_what_lies_at_the_noise_floor_is_hardly_ever_faster(
    objective: Objective, old: float, new: float
) -> None:
    taken = [
        on_all_kinds(objective, evaluations(old, new, seed, noise=0.01), FLOORS).verdict
        for seed in range(200)
    ]
    assert taken.count(Verdict.FASTER) <= 0.05 * 200


def test_few_pairs_on_one_kind_say_little() -> None:
    rng = random.Random(3)
    found = {
        kind: measured(
            Measurement(0, Survival.NORMAL, 0.0, samples=samples(ratio, rng, pairs)), FLOORS[kind]
        )
        for kind, ratio, pairs in (("old", 0.3, 15), ("new", 2.0, 1))
    }
    joint = on_all_kinds(Objective.GEOMEAN, found, FLOORS)
    assert joint.ratio == pytest.approx(math.sqrt(0.6), rel=0.02)
    assert joint.verdict is Verdict.UNCERTAIN
    assert on_all_kinds(Objective.WORST, found, FLOORS).verdict is Verdict.SLOWER


@pytest.mark.parametrize("objective", [Objective.GEOMEAN, Objective.WORST])
@pytest.mark.parametrize(
    ("failed", "outcome"),
    [
        (not_built("no such thing"), Outcome.NOT_BUILT),
        (lost(Survival.HUNG, "it hangs"), Outcome.HUNG),
        (Evaluation(True, Survival.NORMAL, 1.0, message="out[0] is 1"), Outcome.WRONG),
    ],
)
def test_what_fails_on_one_kind_fails(
    objective: Objective, failed: Evaluation, outcome: Outcome
) -> None:
    found = evaluations(0.5, 0.5) | {"new": failed}
    joint = on_all_kinds(objective, found, FLOORS)
    assert joint.outcome is outcome
    assert joint.message == f"on new: {failed.message}"
    assert not joint.selectable


def readings(old: float, new: float) -> dict[str, Reading]:
    rng = random.Random(2)
    return {
        kind: Reading(tuple(samples(ratio, rng) for _ in range(6)))
        for kind, ratio in (("old", old), ("new", new))
    }


def test_a_validation_on_several_kinds_has_the_cases_of_each() -> None:
    found = readings(0.5, 0.625)
    joint = validated_on_all_kinds(Objective.GEOMEAN, found)
    assert joint.faster
    assert joint.overall is not None
    assert joint.overall.value == pytest.approx(math.sqrt(2 * 1.6), rel=0.01)
    assert joint.cases is not None
    assert {case: round(one.value, 1) for case, one in joint.cases.items()} == {
        "train on old": 2.0,
        "train on new": 1.6,
    }
    worst = validated_on_all_kinds(Objective.WORST, found)
    assert worst.overall == validation(found["new"]).overall
    assert worst.cases == joint.cases


def test_a_validation_fails_where_one_kind_does() -> None:
    found = readings(0.5, 0.5) | {"new": Reading(failure="wrong: out[0] is 1")}
    for objective in (Objective.GEOMEAN, Objective.WORST):
        joint = validated_on_all_kinds(objective, found)
        assert not joint.correct
        assert joint.message == "on new: wrong: out[0] is 1"
    slower = validated_on_all_kinds(Objective.WORST, readings(0.5, 1.1))
    assert slower.correct
    assert not slower.faster
