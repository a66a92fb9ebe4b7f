"""Readings fail if an objection fails the contestant, whatever its speed."""

from __future__ import annotations

from gi_cuda.analyze.compare.comparison import judged, verdict
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling
from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import Reading
from gi_cuda.results.verdict import Verdict

SLOWER = Reading([[Sample("train", 2.0, 1.0)]])


def objection(ruling: Ruling) -> Objection:
    return Objection(f"it is {ruling}", lambda some: [""] * len(some), quick=True, ruling=ruling)


def test_what_fails_a_contestant() -> None:
    unverified, invalid = objection(Ruling.UNVERIFIED), objection(Ruling.INVALID)
    assert judged(SLOWER, []) is SLOWER
    assert judged(SLOWER, [unverified]) is SLOWER
    failed = judged(SLOWER, [unverified, invalid, objection(Ruling.INCORRECT)])
    assert not failed.right
    assert failed.failure == "it is invalid"


def test_the_speed_of_what_is_unverified_is_uncertain() -> None:
    slower = Reading([[Sample("train", 2.0, 1.0)]] * 12)
    assert verdict(slower, [], 0.01) is Verdict.SLOWER
    assert verdict(slower, [objection(Ruling.UNVERIFIED)], 0.01) is Verdict.UNCERTAIN
    assert verdict(Reading(failure="wrong"), [], 0.01) is None
