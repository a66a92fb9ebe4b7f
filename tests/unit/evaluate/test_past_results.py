"""Reuse of measurements, and measurements to be repeated."""

from __future__ import annotations

from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.scheduler import Answer, Answered
from gi_cuda.results.measurement import Measurement, Sample, Survival

FLOOR = 0.01


def timed(ratio: float, *, elsewhere: bool = False) -> Measurement:
    samples = tuple(Sample("train", ratio * 1e-3, 1e-3) for _ in range(7))
    return Measurement(1, Survival.NORMAL, 0.0, samples=samples, elsewhere=elsewhere)


def answered(answer: Answer, *, confirmed: bool = False, elsewhere: bool = True) -> Answered:
    return Answered(
        1, answer, own=True, final=True, confirmed=confirmed, elsewhere=elsewhere or confirmed
    )


def test_what_is_faster_by_far_is_believed_once_it_was_right_elsewhere() -> None:
    past = PastResults()
    assert past.judged(answered(timed(0.7)), (), FLOOR) is None
    evaluation = past.judged(answered(timed(0.7, elsewhere=True)), (), FLOOR)
    assert evaluation is not None
    assert evaluation.selectable


def test_what_is_faster_by_little_is_confirmed_in_any_case() -> None:
    past = PastResults()
    assert past.judged(answered(timed(0.95, elsewhere=True)), (), FLOOR) is None
    assert past.judged(answered(timed(0.95, elsewhere=True), confirmed=True), (), FLOOR) is not None


def test_who_ran_elsewhere_or_died_of_it_counts_for_the_risk() -> None:
    past = PastResults()
    for elsewhere in (False, True):
        past.judged(answered(timed(0.7, elsewhere=elsewhere)), (), FLOOR)
    assert (past.risk.looks, past.risk.deaths) == (1, 0)
    death = Lost(Survival.CRASHED, "illegal access")
    past.judged(answered(death), (), FLOOR)
    assert (past.risk.looks, past.risk.deaths) == (2, 1)
    past.judged(answered(death, elsewhere=False), (), FLOOR)
    assert (past.risk.looks, past.risk.deaths) == (2, 1)
    past.risk.looked()  # when it was sent to be confirmed
    past.judged(answered(death, confirmed=True), (), FLOOR)
    assert (past.risk.looks, past.risk.deaths) == (3, 2)
