"""Decision to rehearse variants, in code that cannot do harm."""

from __future__ import annotations

import pytest

from gi_cuda.evaluate.batches.rehearsal import MEMORY, Balance, Tally
from gi_cuda.results.evaluation import Evaluation, lost
from gi_cuda.results.measurement import Survival

RIGHT = Evaluation(built=True, survival=Survival.NORMAL, penalty=0.0)
WRONG = Evaluation(built=True, survival=Survival.NORMAL, penalty=1.0)
DEAD = lost(Survival.HUNG, "over its time limit")
ALONE, TOGETHER = Balance(64.0, 1.0), Balance(64.0, 1.0, 1.0)


def after(right: int = 0, dead: int = 0, wrong: int = 0) -> Tally:
    found = Tally()
    for one, number in ((RIGHT, right), (DEAD, dead), (WRONG, wrong)):
        for _ in range(number):
            found.enter(one)
    return found


def test_all_rehearse_as_long_as_nothing_is_known() -> None:
    assert after().favours(ALONE)
    assert after(wrong=MEMORY).favours(ALONE)


def test_where_nobody_would_die_it_is_left_out() -> None:
    assert not after(right=64).favours(ALONE)
    assert not after(right=64, wrong=500).favours(ALONE)


def test_in_a_schema_it_pays_as_well_where_many_are_wrong() -> None:
    assert after(right=65, wrong=500).favours(TOGETHER)
    assert not after(right=565, wrong=500).favours(TOGETHER)


@pytest.mark.parametrize("dead", [1, 3, 10])
def test_a_death_is_worth_as_many_rehearsals_as_it_takes_longer(dead: int) -> None:
    assert after(right=64 * (dead + 1) - 1, dead=dead).favours(ALONE)
    assert not after(right=64 * (dead + 1), dead=dead).favours(ALONE)


def test_it_comes_back_when_variants_begin_to_die() -> None:
    found = after(right=500)
    assert not found.favours(ALONE)
    for _ in range(10):
        found.enter(DEAD)
    assert found.favours(ALONE)


def test_what_was_long_ago_counts_less() -> None:
    found = after(dead=100, right=MEMORY - 101)
    for _ in range(2 * MEMORY):
        found.enter(RIGHT)
    assert not found.favours(ALONE)
