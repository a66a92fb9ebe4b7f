"""Several looks at the held-out cases: real gains are certified, chance results are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gi_cuda.analyze.validate.looks import look
from gi_cuda.results.evaluation import Validation, validation
from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import Reading, SpeedUp
from gi_cuda.results.verdict import confidence_after, is_faster

FLOOR = 0.01


def measure_of(
    rng: np.random.Generator, hour: float, process: float
) -> Callable[[Sequence[float], float], tuple[SpeedUp, list[Validation]]]:
    """A machine on which what is measured together is off by so much together, and each process by
    so much more, as standard deviations; its candidates are true speed-ups."""

    def measured(speed_up: float, confidence: float) -> Validation:
        off = rng.normal(0, hour)
        builds = [
            tuple(
                Sample("held-out", float(np.exp(off + one + noise)) / speed_up, 1.0)
                for noise in rng.normal(0, 0.003, 9)
            )
            for one in rng.normal(0, process, 12)
        ]
        return validation(Reading(tuple(builds)), confidence)

    def measure(candidates: Sequence[float], confidence: float) -> tuple[SpeedUp, list[Validation]]:
        copy, *found = (measured(one, confidence) for one in (1.0, *candidates))
        assert copy.overall is not None
        return copy.overall, found

    return measure


def test_200_searches_without_a_gain_certify_nothing_in_three_validations_each() -> None:
    """Each validation measures three candidates; hours differ by more than processes show."""
    measure = measure_of(np.random.default_rng(1), hour=0.004, process=0.002)
    certified = 0
    for _ in range(200):
        failed = 0
        for _ in range(3 * 3):
            noise, found, failed = look(measure, [1.0], failed, FLOOR)
            certified += is_faster(found[0].overall, noise, FLOOR)
    assert certified == 0


def test_a_gain_of_5_percent_is_certified_and_holds_when_it_is_measured_again() -> None:
    measure = measure_of(np.random.default_rng(2), hour=0.001, process=0.005)
    held = certified = 0
    for number in range(100):
        noise, (one,), _ = look(measure, [1.05], number % 4, FLOOR)
        certified += is_faster(one.overall, noise, FLOOR)
        _, (later,) = measure([1.05], confidence_after(0))
        assert one.overall
        assert later.overall
        held += one.overall.low <= later.overall.value <= one.overall.high
    assert certified == 100
    assert held >= 94


def test_what_fails_makes_the_next_look_stricter_and_what_holds_does_not() -> None:
    measure = measure_of(np.random.default_rng(3), hour=0, process=0.002)
    assert look(measure, [1.05, 1.2], 0, FLOOR).failed == 0
    assert look(measure, [1.05, 1.0, 0.9], 2, FLOOR).failed == 4
    chances = [1 - confidence_after(failed) for failed in range(1000)]
    assert sum(chances) < 0.02
    assert sorted(chances, reverse=True) == chances


def test_after_a_failure_the_second_measurement_counts() -> None:
    first, second = SpeedUp(1.04, 1.02, 1.05), SpeedUp(1.005, 0.99, 1.01)
    told = [first, second]

    def measure(candidates: Sequence[str], confidence: float) -> tuple[SpeedUp, list[Validation]]:
        return SpeedUp(1.0, 0.995, 1.005), [Validation(True, overall=told.pop(0))]

    assert look(measure, ["lucky"], 3, FLOOR) == (
        SpeedUp(1.0, 0.995, 1.005),
        [Validation(True, overall=second)],
        4,
    )
