"""Decision to rehearse faster variants on cases that they have not seen."""

from __future__ import annotations

from gi_cuda.evaluate.batches.experience.crash_risk import MEMORY, CrashRisk


def after(looks: int, deaths: int) -> CrashRisk:
    risk = CrashRisk()
    for number in range(looks):
        risk.looked()
        if number < deaths:
            risk.died()
    return risk


def test_one_in_ten_is_feared_for_while_nothing_is_known() -> None:
    assert CrashRisk().is_worth(seconds=0.04, death=0.4)
    assert not CrashRisk().is_worth(seconds=0.05, death=0.4)


def test_where_none_dies_what_takes_long_is_not_rehearsed() -> None:
    assert not after(100, 0).is_worth(seconds=0.04, death=0.4)
    assert after(100, 0).is_worth(seconds=0.001, death=0.4)


def test_where_many_die_it_is() -> None:
    assert after(100, 50).is_worth(seconds=0.1, death=0.4)


def test_what_dies_later_counts_more_than_what_did_not_before() -> None:
    risk = after(MEMORY - 1, 0)
    before = risk.share
    for _ in range(100):
        risk.looked()
        risk.died()
    assert risk.looks < MEMORY
    assert risk.share > before + 100 / MEMORY
