"""Crashes count once the device is known to work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.errors import DeviceLost
from gi_cuda.evaluate.batches.evidence import (
    ATTEMPTS,
    DEATHS,
    MOST_DEATHS,
    DeviceEvidence,
    Evidence,
)


@pytest.fixture
def evidence() -> DeviceEvidence[int]:
    return DeviceEvidence()


def die(evidence: DeviceEvidence[int], *numbers: int) -> None:
    """Work of these numbers begins, its workers die, and that is held back."""
    for number in numbers:
        evidence.begun(number)
        evidence.died(number)
        evidence.hold(number)


def test_a_death_counts_once_something_that_was_begun_later_works(
    evidence: DeviceEvidence[int],
) -> None:
    evidence.begun(1)
    evidence.begun(2)
    evidence.died(1)
    evidence.hold(1)
    evidence.begun(3)
    assert evidence.worked(2) == []  # begun before: the device may have been lost meanwhile
    assert evidence.held == 1
    assert evidence.worked(3) == [1]
    assert evidence.held == 0


def test_what_works_says_nothing_of_deaths_after_it_was_begun(
    evidence: DeviceEvidence[int],
) -> None:
    die(evidence, 1)
    evidence.begun(2)
    die(evidence, 3)
    assert evidence.worked(2) == [1]
    assert evidence.held == 1


def test_the_reference_is_run_after_some_deaths_in_a_row(evidence: DeviceEvidence[int]) -> None:
    die(evidence, *range(1, DEATHS))
    assert evidence.proof(idle=False) is None
    die(evidence, DEATHS)
    number = evidence.proof(idle=False)
    assert number is not None
    assert evidence.proof(idle=False) is None  # one at a time
    assert evidence.proven(number) == list(range(1, DEATHS + 1))


def test_the_reference_is_run_where_nothing_else_is_left_to_run(
    evidence: DeviceEvidence[int],
) -> None:
    assert evidence.proof(idle=True) is None
    die(evidence, 1)
    assert evidence.proof(idle=False) is None
    number = evidence.proof(idle=True)
    assert number is not None
    assert evidence.proven(number) == [1]
    assert evidence.proof(idle=True) is None


def test_a_reference_that_fails_once_is_run_again(evidence: DeviceEvidence[int]) -> None:
    die(evidence, *range(1, DEATHS + 1))
    for _ in range(ATTEMPTS - 1):
        number = evidence.proof(idle=False)
        assert number is not None
        evidence.not_proven(number, "hung")
    number = evidence.proof(idle=False)
    assert number is not None
    assert evidence.proven(number) == list(range(1, DEATHS + 1))
    assert evidence.proof(idle=True) is None


def test_a_reference_that_fails_again_and_again_means_that_the_device_is_lost(
    evidence: DeviceEvidence[int],
) -> None:
    die(evidence, *range(1, DEATHS + 1))
    for _ in range(ATTEMPTS - 1):
        number = evidence.proof(idle=False)
        assert number is not None
        evidence.not_proven(number, "no device")
    number = evidence.proof(idle=False)
    assert number is not None
    with pytest.raises(DeviceLost, match="no device"):
        evidence.not_proven(number, "no device")


def test_in_a_storm_of_deaths_the_reference_is_run_more_and_more_seldom(
    evidence: DeviceEvidence[int],
) -> None:
    proofs = []
    for number in range(1, 301):
        die(evidence, number)
        if (proof := evidence.proof(idle=False)) is not None:
            evidence.proven(proof)
            proofs.append(number)
    gaps = [after - before for before, after in zip([0, *proofs], proofs, strict=False)]
    assert gaps[:4] == [DEATHS, 2 * DEATHS, 4 * DEATHS, 8 * DEATHS]
    assert set(gaps[4:]) == {MOST_DEATHS}
    evidence.begun(301)
    evidence.worked(301)
    die(evidence, 302, 303, 304)
    assert evidence.proof(idle=False) is not None


@given(st.lists(st.sampled_from(["begin", "work", "die", "prove"]), max_size=60), st.randoms())
def test_nothing_is_believed_before_later_work_works_and_nothing_is_lost(
    steps: list[str], rng: object
) -> None:
    """A death is believed once, in order, and only when what was begun after it has worked."""
    evidence: DeviceEvidence[int] = DeviceEvidence()
    begun: list[int] = []
    died: list[tuple[int, int]] = []
    """Each with the number of the last work that had begun."""
    believed: list[int] = []
    last = 0
    for step in steps:
        if step == "begin":
            last += 1
            evidence.begun(last)
            begun.append(last)
        elif step == "work" and begun:
            number = begun.pop(rng.randrange(len(begun)))  # type: ignore[attr-defined]
            expected = [one for one, moment in died if moment < number]
            assert evidence.worked(number) == expected
            believed += expected
            died = died[len(expected) :]
        elif step == "die" and begun:
            number = begun.pop(rng.randrange(len(begun)))  # type: ignore[attr-defined]
            evidence.died(number)
            evidence.hold(number)
            died.append((number, last))
        elif step == "prove" and (proof := evidence.proof(idle=True)) is not None:
            assert evidence.proven(proof) == [one for one, _ in died]
            believed += [one for one, _ in died]
            died = []
        assert evidence.held == len(died)
    assert len(set(believed)) == len(believed)


# -- several devices -------------------------------------------------------------------------------


def die_on(evidence: Evidence[int], device: int, *numbers: int) -> None:
    """Work of these numbers begins on a device, its workers die, and that is held back."""
    for number in numbers:
        evidence.begun(number, device)
        evidence.on(number).died(number)
        evidence.on(number).hold(number)


def test_what_works_on_one_device_says_nothing_of_another() -> None:
    evidence: Evidence[int] = Evidence()
    die_on(evidence, 0, 1)
    die_on(evidence, 1, 2)
    evidence.begun(3, 0)
    assert evidence.on(3).worked(3) == [1]
    assert evidence.held == 1
    evidence.begun(4, 1)
    assert evidence.on(4).worked(4) == [2]


def test_the_reference_is_run_where_there_were_deaths_and_its_numbers_differ() -> None:
    evidence: Evidence[int] = Evidence()
    die_on(evidence, 1, *range(1, DEATHS + 1))
    ((first, device),) = evidence.proofs((0, 1), idle=False)
    assert device == 1
    die_on(evidence, 0, *range(11, DEATHS + 11))
    ((second, device),) = evidence.proofs((0, 1), idle=False)
    assert device == 0
    assert first != second
    assert evidence.device(first) == 1
    assert evidence.on(first).proven(first) == list(range(1, DEATHS + 1))


def test_what_died_on_a_device_that_is_left_is_to_be_done_again() -> None:
    evidence: Evidence[int] = Evidence()
    die_on(evidence, 0, 1)
    die_on(evidence, 1, *range(2, DEATHS + 2))
    assert evidence.left((0, 1)) == []
    assert evidence.left((0,)) == list(range(2, DEATHS + 2))
    assert evidence.left((0,)) == []
    assert not list(evidence.proofs((0,), idle=False))
    assert evidence.lost("why").said == (
        "why; 1 individual that failed since it last worked is not counted"
    )
    die_on(evidence, 0, 8, 9)
    assert evidence.lost("why").said == (
        "why; 3 individuals that failed since it last worked are not counted"
    )
