"""Dependencies of changes with planted effects are found exactly."""

from __future__ import annotations

import random

import pytest

from gi_cuda.analyze.interactions.algorithm import Interactions, interactions
from gi_cuda.analyze.minimizing.minimize import WrongWinner

from .conftest import Truth, changed, measurer

Names = frozenset[str]


def bare(changes: tuple[str, ...]) -> str:
    return "".join(sorted(change.strip("<>") for change in changes))


def groups(result: Interactions) -> set[str]:
    return {bare(group.changes) for group in result.groups}


def needs(result: Interactions) -> dict[str, tuple[str, str]]:
    return {bare((n.change,)): (bare(n.always), bare(n.either)) for n in result.needs}


def pairs(result: Interactions) -> dict[tuple[str, str], bool]:
    return {tuple(sorted((bare(p.first), bare(p.second)))): p.super_additive for p in result.pairs}  # type: ignore[misc]


def found(truth: Truth, names: str, seed: int = 1, **options: int) -> Interactions:
    shuffled = random.Random(seed).sample(names, len(names))
    return interactions(changed(shuffled), measurer(truth, seed)[0], **options)


@pytest.mark.parametrize("seed", range(100))
def test_the_truth_is_found(seed: int, planted: Truth) -> None:
    result = found(planted, "abcpqst", seed)
    assert groups(result) == {"a", "b", "c", "pq", "st"}
    assert {bare((one.change,)) for one in result.singles if one.independent} == set("abc")
    assert needs(result) == {"s": ("t", ""), "t": ("s", "")}
    assert pairs(result) == {("p", "q"): True}
    assert (result.subsets, result.possible) == (15, 16)


def test_gains_and_shares_are_those_of_the_groups(planted: Truth) -> None:
    result = found(planted, "abcpqst")
    gains = {bare(group.changes): group.gain for group in result.groups}
    for name, gain in {"a": 1.04, "b": 1.08, "c": 1.15, "pq": 1.07, "st": 1.1}.items():
        one = gains[name]
        assert one is not None
        assert one.low < gain < one.high
    assert sum(group.share or 0 for group in result.groups) == pytest.approx(1, abs=0.1)
    values = [group.gain.value for group in result.groups if group.gain]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("seed", range(10))
def test_gains_that_overlap_are_sub_additive(seed: int) -> None:
    truth = Truth({Names("a"): 1.1, Names("b"): 1.15, Names("ab"): 1 / 1.07, Names("c"): 1.2})
    result = found(truth, "abc", seed)
    assert pairs(result) == {("a", "b"): False}
    assert groups(result) == {"ab", "c"}


@pytest.mark.parametrize("seed", range(10))
def test_three_that_only_pay_together_are_one_group(seed: int) -> None:
    result = found(Truth({Names("abc"): 1.1, Names("d"): 1.1}), "abcd", seed)
    assert groups(result) == {"abc", "d"}


@pytest.mark.parametrize("seed", range(10))
def test_a_chain_of_needs(seed: int) -> None:
    """``t`` is wrong without ``s``, and ``s`` without ``r``."""

    def fails(names: Names) -> bool:
        return ("s" in names and "r" not in names) or ("t" in names and "s" not in names)

    result = found(Truth({Names("t"): 1.2, Names("x"): 1.1}, fails), "rstx", seed)
    assert needs(result) == {"s": ("r", ""), "t": ("rs", "")}
    assert groups(result) == {"rst", "x"}
    assert pairs(result) == {}


def test_either_of_two_may_be_what_is_needed() -> None:
    truth = Truth({Names("e"): 1.2}, lambda n: "e" in n and not n & Names("rs"))
    result = found(truth, "ers")
    assert needs(result) == {"e": ("", "rs")}


def test_a_conflict_that_a_third_mends_joins_all_three() -> None:
    truth = Truth({Names("a"): 1.1, Names("b"): 1.2}, lambda n: Names("ab") <= n and "c" not in n)
    assert groups(found(truth, "abc")) == {"abc"}


def test_blocks_that_gain_more_together_are_a_pair() -> None:
    truth = Truth(
        {Names("p"): 1.1, Names("st"): 1.1, Names("pst"): 1.1},
        lambda names: len(names & Names("st")) == 1,
    )
    result = found(truth, "pst")
    assert pairs(result) == {("p", "st"): True}
    assert groups(result) == {"pst"}


def test_a_budget_is_kept_and_stated() -> None:
    """Ten changes that all need each other: 1023 subsets, of which forty are read."""
    names = "abcdefghij"
    truth = Truth({Names(names): 1.5}, lambda n: 0 < len(n) < len(names))
    result = found(truth, names, budget=40)
    assert (result.subsets, result.possible) == (40, 1024)
    assert groups(result) == {names}


def test_one_change_is_a_group_of_its_own() -> None:
    result = found(Truth({Names("a"): 1.3}), "a")
    assert groups(result) == {"a"}
    assert result.singles[0].independent
    assert result.possible == 1


def test_every_step_is_one_batch(planted: Truth) -> None:
    train, _ = measurer(planted, 1)
    result = interactions(changed("abcpqst"), train)
    assert len(train.asked) == result.batches <= 6


def test_a_winner_that_is_wrong_is_refused() -> None:
    with pytest.raises(WrongWinner, match="expected 2"):
        found(Truth({}, lambda names: "a" in names), "ab")
