"""Minimizing winners with planted effects leaves exactly the useful changes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gi_cuda.analyze.minimizing.minimization import Minimization
from gi_cuda.analyze.minimizing.minimize import Allowance, WrongWinner, minimize
from gi_cuda.evaluate.readings import Measurer
from gi_cuda.genome import Genotype
from gi_cuda.results.speed_up import Reading
from gi_cuda.results.verdict import LEAST_FLOOR
from tests.sweeps import sweep

from .conftest import PLANTED, Names, Simulated, Truth, changed, genotype, measurers


def kept(result: Minimization) -> set[str]:
    return {one.change.strip("<>") for one in result.kept}


def stones(result: Minimization) -> dict[str, tuple[str, ...]]:
    return {one.change: one.needed_by for one in result.kept if one.stepping_stone}


@pytest.mark.parametrize("seed", sweep(range(100), *range(20)))
def test_what_pays_stays_and_nothing_else(seed: int, planted: Truth) -> None:
    shuffled = random.Random(seed).sample(PLANTED, len(PLANTED))
    result = minimize(changed(shuffled), measurers(planted, seed))
    assert kept(result) == set("abcpqst")
    assert result.genotype == " ".join(f"<{name}>" for name in shuffled if name in "abcpqst")
    assert stones(result) == {"<s>": ("<t>",), "<t>": ("<s>",)}
    wrong = [one for one in result.dropped if one.gain is None]
    assert [one.change for one in wrong] == ["<w>"]
    assert len(result.dropped) == 41


def test_gains_are_those_of_each_change_in_the_rest(planted: Truth) -> None:
    result = minimize(changed("abcpq"), measurers(planted, 1))
    gains = {one.change: one.gain for one in result.kept}
    for name, gain in {"a": 1.04, "b": 1.08, "c": 1.15, "p": 1.07, "q": 1.07}.items():
        found = gains[f"<{name}>"]
        assert found is not None
        assert found.low < gain < found.high
    alone = {one.change: one.alone for one in result.kept}
    found = alone["<p>"]
    assert found is not None
    assert found.low < 1 < found.high


@pytest.mark.parametrize("seed", range(10))
def test_chains_of_stepping_stones_stay(seed: int) -> None:
    """``t`` pays and is wrong without ``s``, which does nothing and is wrong without ``r``."""

    def fails(names: frozenset[str]) -> bool:
        return ("s" in names and "r" not in names) or ("t" in names and "s" not in names)

    truth = Truth({frozenset("t"): 1.2}, fails)
    result = minimize(changed("nrstm"), measurers(truth, seed))
    assert kept(result) == set("rst")
    assert stones(result).keys() == {"<r>", "<s>"}
    assert stones(result)["<s>"] == ("<t>",)


@pytest.mark.parametrize("seed", range(10))
def test_of_two_edits_that_do_the_same_one_stays(seed: int) -> None:
    truth = Truth({frozenset("a"): 1.1, frozenset("b"): 1.1, frozenset("ab"): 1 / 1.1})
    result = minimize(changed("anbm"), measurers(truth, seed))
    assert kept(result) in ({"a"}, {"b"})


@pytest.mark.parametrize("seed", range(4))
def test_several_small_gains_together_are_a_gain(seed: int) -> None:
    """Twenty edits gain half a percent each: no single one is worth it, all of them are."""
    names = [f"e{i}" for i in range(20)]
    truth = Truth({frozenset([name]): 1.005 for name in names})
    result = minimize(changed(names), measurers(truth, seed))
    assert 1.005 ** len(result.dropped) < 1 + LEAST_FLOOR
    assert result.loss is not None
    assert result.loss.high <= 1 + LEAST_FLOOR


GAINS = ((1.0, 1.002, 1.005, 1.008, 1.012), (1.007,), (1.0, 1.0, 1.004, 1.009, 1.03, 1.1))


@pytest.mark.parametrize("seed", sweep(range(100), *range(20)))
def test_what_is_lost_is_below_the_noise_floor(seed: int) -> None:
    """Whatever the edits gain, and however builds lie: 1.208 never becomes 1.122."""
    rng = random.Random(seed)
    names = [f"e{i}" for i in range(rng.randint(3, 14))]
    gains = rng.choice(GAINS)
    truth = Truth({frozenset([name]): rng.choice(gains) for name in names})
    measuring = measurers(truth, seed, placement=rng.choice([0.0, 0.005, 0.01]))
    left = kept(minimize(changed(names), measuring))
    assert truth.gain(frozenset(names)) / truth.gain(frozenset(left)) < 1 + LEAST_FLOOR


@pytest.mark.parametrize("seed", range(4))
def test_what_pays_on_the_confirming_cases_alone_comes_back(seed: int) -> None:
    names = [*"abc", *(f"n{i}" for i in range(9))]
    train = Truth({frozenset("a"): 1.1})
    elsewhere = Truth({frozenset("a"): 1.1, frozenset("b"): 1.06, frozenset("c"): 1.03})
    result = minimize(changed(names), measurers(train, seed, confirming=elsewhere))
    assert kept(result) == {"a", "b", "c"}
    assert len(result.dropped) == 9
    assert result.confirmed is not None
    assert result.confirmed.high <= 1 + LEAST_FLOOR


def test_what_is_wrong_on_the_confirming_cases_goes() -> None:
    truth = Truth({frozenset("a"): 1.1, frozenset("v"): 1.1})
    confirming = replace(truth, fails=lambda names: "v" in names)
    result = minimize(changed("av"), measurers(truth, 1, confirming=confirming))
    assert kept(result) == {"a"}
    assert "on the cases that confirm it" in result.dropped[0].reason


@pytest.mark.parametrize("seed", range(10))
def test_of_two_edits_either_of_which_is_enough_one_stays_though_builds_lie_badly(
    seed: int,
) -> None:
    """One build in five of a slow variant is as fast as the fast ones: code placement does that."""
    truth = Truth({Names("a"): 1.25, Names("b"): 1.25, Names("ab"): 1 / 1.25})
    measuring = measurers(truth, seed)

    def misplaced(measurer: Measurer) -> Measurer:
        def read(genotypes: Sequence[Genotype]) -> list[Reading]:
            readings = measurer(genotypes)
            fast = measurer([genotype("a")])[0].builds[0]
            return [replace(reading, builds=(fast, *reading.builds[1:])) for reading in readings]

        return read

    badly = replace(
        measuring,
        train=misplaced(measuring.train),
        train_beside=lambda winner: misplaced(measuring.train_beside(winner)),
    )
    assert kept(minimize(changed("abc"), badly)) in ({"a"}, {"b"})


def test_where_nothing_pays_nothing_stays() -> None:
    result = minimize(changed(["a", "b", "c"]), measurers(Truth({}), 1))
    assert result.kept == ()
    assert result.genotype == ""


def test_the_threshold_decides_what_pays() -> None:
    truth = Truth({frozenset("a"): 1.03, frozenset("b"): 1.2})
    few, many = Allowance(0.005), Allowance(0.1)
    assert kept(minimize(changed("ab"), measurers(truth, 1), few)) == {"a", "b"}
    assert kept(minimize(changed("ab"), measurers(truth, 1), many)) == {"b"}


def test_an_edit_that_only_held_out_cases_need_stays() -> None:
    truth = Truth({frozenset("a"): 1.1}, fails_held_out=lambda n: "a" in n and "b" not in n)
    result = minimize(changed("abc"), measurers(truth, 1))
    assert kept(result) == {"a", "b"}
    assert stones(result) == {"<b>": ("<a>",)}


def test_several_edits_that_are_wrong_on_held_out_cases_all_go() -> None:
    truth = Truth(
        {frozenset("a"): 1.1, frozenset("v"): 1.1, frozenset("w"): 1.1},
        fails_held_out=lambda names: bool(names & frozenset("vw")),
    )
    result = minimize(changed("vawx"), measurers(truth, 1))
    assert kept(result) == {"a"}
    assert {one.change for one in result.dropped if one.gain is None} == {"<v>", "<w>"}


def test_a_winner_that_is_wrong_on_the_train_cases_is_refused() -> None:
    truth = Truth({}, fails=lambda names: "x" in names)
    with pytest.raises(WrongWinner, match="expected 2"):
        minimize(changed("ax"), measurers(truth, 1))


def test_the_variants_of_a_step_are_one_batch(planted: Truth) -> None:
    measuring = measurers(planted, 1)
    result = minimize(changed(PLANTED), measuring)
    assert result.batches < 20
    assert isinstance(measuring.train, Simulated)
    assert max(measuring.train.asked) > 40
