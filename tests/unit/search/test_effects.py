"""Learning in the search ``adaptive``: arms of bandits, and effects of changes in unions."""

from __future__ import annotations

import random

import pytest

from gi_cuda.genome import Delete
from gi_cuda.search.adaptive.bandit import Alike, Bandit
from gi_cuda.search.adaptive.effects import Effects

# -- the bandit ------------------------------------------------------------------------------------


def test_a_bandit_draws_what_pays_ever_more_often_and_forgets_nobody() -> None:
    chances = {"good": 0.6, "bad": 0.2, "worse": 0.05}
    bandit, rng = Bandit[str](), random.Random(1)
    drawn = []
    for _ in range(1500):
        arm = next(bandit.ranked(list(chances), rng))
        bandit.learn(arm, float(rng.random() < chances[arm]))
        drawn.append(arm)
    assert set(drawn) == set(chances)
    late = drawn[500:]
    assert late.count("good") > 0.9 * len(late)


def test_the_generator_decides_what_a_bandit_draws() -> None:
    bandit, arms = Bandit[int](), list(range(50))
    ranked = [list(bandit.ranked(arms, random.Random(seed))) for seed in (1, 1, 2)]
    assert ranked[0] == ranked[1] != ranked[2]
    assert sorted(ranked[0]) == arms


def test_of_many_arms_that_are_alike_those_that_gave_something_come_before_the_others() -> None:
    good = set(range(0, 400, 20))
    share = {}
    for kind in (Bandit, Alike):
        bandit: Bandit[int] = kind()
        rng = random.Random(1)
        drawn = []
        for _ in range(200):
            arm = next(bandit.ranked(list(range(400)), rng))
            bandit.learn(arm, float(arm in good))
            drawn.append(arm)
        share[kind] = sum(arm in good for arm in drawn[100:]) / 100
    assert share[Alike] > 0.5 > share[Bandit]


def test_an_arm_that_was_never_drawn_is_as_the_others_are_on_the_whole() -> None:
    bandit = Alike[str]()
    assert bandit.mean("new") == 0.5
    for number in range(99):
        bandit.learn(f"arm {number}", float(number % 10 == 0))
    assert bandit.mean("new") == pytest.approx(10.5 / 100)
    assert bandit.mean("arm 1") < bandit.mean("new") < bandit.mean("arm 0")
    own = bandit.copy()
    own.learn("new", 1.0)
    assert own.mean("new") > 0.5 > bandit.mean("new")


# -- what changes do beside others -----------------------------------------------------------------


SOME = [Delete(f"_kernel.cu_{number}") for number in range(40)]
GAINING, COSTING, BREAKING, IDLE = SOME[:3], SOME[3:6], SOME[6:8], SOME[8:]


@pytest.fixture(scope="module")
def measured() -> Effects:
    """Return the effects learned from 400 unions of eight of these changes each."""
    effects, rng = Effects(), random.Random(1)
    gains = dict.fromkeys(GAINING, 0.02) | dict.fromkeys(COSTING, -0.02)
    for _ in range(400):
        some = rng.sample(SOME, 8)
        if not set(BREAKING).isdisjoint(some):
            effects.broke(some)
            continue
        effects.went_together(some)
        ratio = 0.5 - sum(gains.get(one, 0.0) for one in some)
        effects.gained(some, 0.5, ratio * (1 + rng.gauss(0, 0.003)))
    return effects


def test_what_changes_do_is_learned_from_unions(measured: Effects) -> None:
    for some, gain in ((GAINING, 0.02), (COSTING, -0.02), (IDLE, 0.0)):
        assert all(abs(measured.gain(one)[0] - gain) < 0.004 for one in some)
    unknown = Effects().gain(IDLE[0])
    assert all(measured.gain(one)[1] < unknown[1] / 10 for one in IDLE)
    assert all(measured.gain(one) == unknown for one in BREAKING), "it was never right"
    breaks = measured.breaks.mean
    assert min(map(breaks, BREAKING)) > 0.4
    assert max(breaks(one) for one in SOME if one not in BREAKING) < 0.1


def test_what_pays_is_taken_and_what_costs_or_breaks_is_not(measured: Effects) -> None:
    rng = random.Random(2)
    taken = [set(measured.paying(SOME, rng)) for _ in range(20)]
    assert all(set(GAINING) <= some for some in taken)
    assert all(some.isdisjoint(COSTING) for some in taken)
    assert sum(not some.isdisjoint(BREAKING) for some in taken) < 4
    fit = [set(measured.fitting(SOME, 8, rng)) for _ in range(20)]
    assert all(some.isdisjoint(COSTING) and some.isdisjoint(BREAKING) for some in fit)
    assert all({*GAINING, *IDLE} <= some for some in fit)


def test_of_what_nothing_is_known_many_are_tried_together() -> None:
    sizes = [len(Effects().paying(SOME, random.Random(seed))) for seed in range(9)]
    assert min(sizes) >= 4
    assert max(sizes) < len(SOME)
