"""A reading is a failure where an objection fails the contestant, whatever its speed is."""

from __future__ import annotations

from gi_cuda.analyze.compare.comparison import judged
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling
from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import Reading

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
