"""Criteria for faster, certain and accepted."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gi_cuda.results.evaluation import Judge
from gi_cuda.results.gains import interacts, may_interact, pays
from gi_cuda.results.measurement import LOADS, Sample
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import (
    Verdict,
    is_acceptable,
    is_certainly_slower,
    is_faster,
    is_selectable,
    is_settled,
    is_too_noisy,
    needs_confirmation,
    noise_floor,
    noise_floor_beside,
    rank,
    spread,
    verdict_of_confirmation,
    verdict_on_builds,
    verdict_on_pairs,
)


def builds(*ratios: float, noise: float = 0.003, seed: int = 0) -> list[list[Sample]]:
    """Fifteen pairs in each build, with so much noise around the build's own ratio."""
    rng = random.Random(seed)
    return [
        [Sample("one", ratio * rng.gauss(1, noise), 1.0) for _ in range(15)] for ratio in ratios
    ]


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((0.9,) * 5, Verdict.FASTER),
        ((1.1,) * 5, Verdict.SLOWER),
        ((1.0,) * 5, Verdict.SAME),
        ((0.995, 1.0, 1.004, 0.998, 1.002), Verdict.SAME),
        ((0.975, 0.98, 0.99, 1.0, 1.01), Verdict.UNCERTAIN),
        ((0.9, 0.9, 0.9, 1.1, 1.1), Verdict.UNCERTAIN),
        ((0.9,), Verdict.FASTER),
    ],
)
def test_only_what_is_certain_is_said(ratios: tuple[float, ...], said: Verdict) -> None:
    for seed in range(10):
        assert verdict_on_builds(builds(*ratios, seed=seed), 0.01) is said


def test_what_lies_within_the_noise_floor_is_the_same() -> None:
    assert verdict_on_builds(builds(*(0.9,) * 5), 0.2) is Verdict.SAME


def pairs(*ratios: float, reference: float = 1e-3) -> list[Sample]:
    return [Sample("only", ratio * reference, reference) for ratio in ratios]


@pytest.mark.parametrize(
    ("ratios", "reference", "settled"),
    [
        ((1.2,), 1e-3, False),  # one pair tells little,
        ((1.6,), 1e-3, True),  # unless it is far slower,
        ((1.6,), 1e-5, False),  # by what can be told from noise
        ((1.2, 0.9, 1.1), 1e-3, True),
        ((0.9, 0.9, 0.9), 1e-3, False),  # looks faster, and is not certain to be
        ((0.9, 0.901, 0.899, 0.9), 1e-3, True),
    ],
)
def test_more_pairs_are_for_what_looks_faster(
    ratios: tuple[float, ...], reference: float, settled: bool
) -> None:
    assert is_settled(pairs(*ratios, reference=reference), screen=3, floor=0.01) is settled


SLOW_FOR_A_WHILE = (0.955, 1.157, 1.139, 0.970)
"""Time ratios of a variant that is 5 % faster, on a machine that was 20 % slower now and then."""


@pytest.mark.parametrize(
    ("ratios", "settled"),
    [
        (SLOW_FOR_A_WHILE, False),
        ((0.6, 0.6, 0.6, 0.72), False),  # certainly faster; by how much is not known
        ((0.6, 0.6, 0.6, 0.72, *(0.6,) * 6), True),  # one of ten tells nothing
        (SLOW_FOR_A_WHILE * 4, True),  # it is so all the time
        ((1.3, 1.5, 1.4, 1.7), True),  # it is slower in any case
        ((1.01, 0.98, 1.02, 0.99), True),
    ],
)
def test_more_pairs_are_for_what_was_disturbed(ratios: tuple[float, ...], settled: bool) -> None:
    assert is_settled(pairs(*ratios), screen=4, floor=0.01) is settled


def test_individuals_are_ranked_by_what_is_sure() -> None:
    assert rank(0.5, 0.95) == 0.95
    assert rank(0.5, None) == 0.5
    assert rank(None, None) is None
    assert [is_selectable(one) for one in (*Verdict, None)] == [True, False, False, False, False]


def test_what_looks_faster_needs_a_second_process() -> None:
    assert needs_confirmation(Verdict.FASTER, 0.95, 0.01, elsewhere=True)
    others = [one for one in (*Verdict, None) if one != "faster"]
    assert not any(needs_confirmation(one, 0.95, 0.01, elsewhere=True) for one in others)


def test_what_is_faster_by_more_than_processes_differ_does_not() -> None:
    assert not needs_confirmation(Verdict.FASTER, 0.89, 0.01, elsewhere=True)
    assert needs_confirmation(Verdict.FASTER, 0.89, 0.02, elsewhere=True)
    assert needs_confirmation(Verdict.FASTER, 0.89, 0.2, elsewhere=True)
    assert needs_confirmation(Verdict.FASTER, 0.89, 0.01, elsewhere=False)


@pytest.mark.parametrize("load", range(LOADS))
def test_what_is_timed_beside_one_slow_load_of_the_reference_is_not_faster(load: int) -> None:
    rng = np.random.default_rng(load)
    for count in (4, 10, 31):
        values = np.exp(rng.normal(0, 0.003, count))
        values[load::LOADS] /= 1.47
        assert verdict_on_pairs(values, 0.01) is not Verdict.FASTER
        assert verdict_on_pairs(values * 0.9, 0.01) is not Verdict.SLOWER


def test_no_slow_phase_makes_the_same_code_faster_in_two_processes() -> None:
    """One load of the reference in twenty is slow for good; now and then, all is for a while."""
    rng = np.random.default_rng(1)

    def process(judge: Judge) -> bool:
        slow = rng.random(LOADS) < 0.05
        values = np.exp(rng.normal(0, 0.03, 31))
        for at in range(LOADS):
            values[at::LOADS] /= 1.47 if slow[at] else 1.0
        begin = rng.integers(0, 31)  # a pair that a phase begins or ends in is off by much
        values[begin] *= rng.choice([1 / 1.45, 1.45])
        for done in (4, *range(7, 32, 3)):
            samples = pairs(*values[:done])
            if is_settled(samples, 4, 0.03):
                return judge(values[:done], 0.03) is Verdict.FASTER
        return False

    once = sum(process(verdict_on_pairs) for _ in range(1000))
    again = sum(process(verdict_of_confirmation) for _ in range(1000))
    assert once <= 10
    assert again <= 30
    assert once * again < 1000 * 1000 / 1000


def test_a_gain_is_confirmed_by_less_than_it_takes_to_claim_it() -> None:
    values = np.array([0.88, 0.91, 0.9, 0.93])
    assert verdict_on_pairs(values, 0.05) is Verdict.UNCERTAIN
    assert verdict_of_confirmation(values, 0.05) is Verdict.FASTER
    assert verdict_of_confirmation(values / 0.95, 0.05) is Verdict.UNCERTAIN
    assert verdict_of_confirmation(values / 0.5, 0.05) is Verdict.SLOWER


def test_the_noise_floor_is_what_copies_of_the_reference_differ_by() -> None:
    quiet, apart = np.full(9, 1.001), np.linspace(0.96, 1.02, 9)
    assert noise_floor([quiet, quiet]) == 0.01
    assert noise_floor([quiet, apart]) == pytest.approx(spread([apart]))
    assert 0.03 < spread([apart]) < 0.041
    assert noise_floor_beside(0.01, SpeedUp(1.0, 0.97, 1.01)) == pytest.approx(0.03)
    assert not is_too_noisy(0.2, Verdict.SAME)
    assert is_too_noisy(0.21, Verdict.SAME)
    assert is_too_noisy(0.01, Verdict.SLOWER)


def test_a_candidate_must_be_faster_than_a_copy_of_the_reference_may_seem() -> None:
    noise = SpeedUp(1.0, 0.98, 1.02)
    gain, doubtful, none = SpeedUp(1.1, 1.03, 1.2), SpeedUp(1.1, 1.01, 1.2), SpeedUp(1.1, 0.9, 1.2)
    assert [is_faster(one) for one in (gain, doubtful, none, None)] == [True, True, False, False]
    assert [is_faster(one, noise) for one in (gain, doubtful, none)] == [True, False, False]
    assert is_acceptable(gain, noise, [(), ()])
    assert not is_acceptable(gain, noise, [(), ("a race",)])
    assert not is_acceptable(None, noise, [])
    assert is_certainly_slower(SpeedUp(0.9, 0.8, 0.95), noise)
    assert not is_certainly_slower(none, noise)
    assert not is_certainly_slower(none, None)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (1.05, 1.02, 1.1, (True, True, False)),
        (1.05, 1.00, 1.1, (False, False, True)),
        (1.005, 1.001, 1.1, (False, False, False)),
        (0.95, 0.9, 0.98, (False, True, False)),
        (0.95, 0.9, 1.0, (False, False, True)),
    ],
)
def test_a_change_pays_and_changes_interact_for_certain_or_perhaps(
    value: float, low: float, high: float, said: tuple[bool, ...]
) -> None:
    one = SpeedUp(value, low, high)
    assert (pays(one), interacts(one), may_interact(one)) == said
