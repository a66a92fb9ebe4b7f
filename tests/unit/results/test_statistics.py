"""Ratios, intervals, verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.results.measurement import Sample
from gi_cuda.results.statistics import (
    _student,
    central,
    median_interval,
    medians,
    ratio_interval,
    ratios,
    repeat_interval,
)
from gi_cuda.results.verdict import Verdict, verdict_on_pairs

RATIOS = st.lists(st.floats(0.1, 10), min_size=1, max_size=60).map(np.array)


def test_a_repetition_s_ratio_is_the_geometric_mean_over_its_cases() -> None:
    samples = [Sample("a", 2, 1), Sample("b", 1, 2), Sample("a", 3, 1), Sample("b", 3, 1)]
    assert ratios(samples) == pytest.approx([1.0, 3.0])


def test_a_repetition_that_missed_a_case_is_left_out() -> None:
    samples = [Sample("a", 2, 1), Sample("b", 2, 1), Sample("a", 9, 1)]
    assert ratios(samples) == pytest.approx([2.0])
    assert len(ratios([])) == 0


@given(RATIOS, st.integers(1, 4))
def test_medians_and_quantiles_are_those_of_numpy(values: np.ndarray, rows: int) -> None:
    table = np.array([np.roll(values, row) * (row + 1) for row in range(rows)])
    assert np.array_equal(medians(table), np.median(table, axis=1))
    assert medians(values) == np.median(values)
    assert central(values, 0.95) == pytest.approx(np.quantile(values, [0.025, 0.975]))


@given(RATIOS)
def test_intervals_enclose_the_median(values: np.ndarray) -> None:
    low, high = median_interval(values)
    assert low <= np.median(values) <= high
    assert repeat_interval([values]) == ratio_interval(values)
    low, high = repeat_interval([values, values[:1], values])
    assert low <= np.median([np.median(values), values[0], np.median(values)]) * (1 + 1e-12)


def test_clusters_that_disagree_widen_the_interval() -> None:
    """Many pairs in one build say nothing of what another build would give."""
    rng = np.random.default_rng(1)
    apart = [rng.normal(centre, 0.001, 50) for centre in (0.90, 0.95, 1.00, 1.05, 1.10)]
    alike = [rng.normal(1.00, 0.001, 50) for _ in range(5)]
    low, high = repeat_interval(apart)
    assert low < 0.96
    assert high > 1.04
    low, high = repeat_interval(alike)
    assert high - low < 0.002


def test_too_few_values_give_no_certainty() -> None:
    assert median_interval(np.full(5, 0.5), 0.95) == (-math.inf, math.inf)
    assert median_interval(np.arange(6.0), 0.95) == (0.0, 5.0)
    assert verdict_on_pairs(np.full(3, 0.5), 0.01) is Verdict.UNCERTAIN
    assert verdict_on_pairs(np.full(4, 0.5), 0.01) is Verdict.FASTER


@pytest.mark.parametrize(
    ("freedom", "confidence", "quantile"),
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (3, 0.98, 4.541), (4, 0.95, 2.776), (6, 0.98, 3.143)],
)
def test_students_quantiles_are_those_of_the_tables(
    freedom: int, confidence: float, quantile: float
) -> None:
    assert _student(freedom, confidence) == pytest.approx(quantile, abs=5e-4)


def test_a_few_pairs_tell_by_how_they_scatter() -> None:
    close, apart = np.array([0.90, 0.901, 0.899, 0.9]), np.array([0.90, 0.85, 0.95, 0.9])
    low, high = ratio_interval(close, 0.98)
    assert 0.897 < low < 0.9 < high < 0.903
    assert verdict_on_pairs(close, 0.01) is Verdict.FASTER
    assert verdict_on_pairs(apart, 0.01) is Verdict.UNCERTAIN
    # One that was disturbed is enough for doubt.
    assert verdict_on_pairs(np.array([0.90, 0.901, 0.899, 1.3]), 0.01) is Verdict.UNCERTAIN
    # With as many as they need, ranks decide.
    assert ratio_interval(np.arange(1.0, 8.0)) == median_interval(np.arange(1.0, 8.0))


@given(st.integers(4, 40), st.sampled_from([0.85, 0.95, 0.98]))
def test_intervals_of_ratios_are_those_of_their_inverses_inverted(
    count: int, confidence: float
) -> None:
    values = np.exp(np.random.default_rng(count).normal(0, 0.1, count))
    low, high = ratio_interval(values, confidence)
    assert ratio_interval(1 / values, confidence) == pytest.approx((1 / high, 1 / low))


def test_the_interval_s_coverage_is_what_it_says() -> None:
    """The interval covers the true median at least as often as promised."""
    rng = np.random.default_rng(7)
    for count in (4, 5, 9, 21):
        draws = rng.lognormal(0.0, 0.3, size=(4000, count))
        covered = [low <= 1.0 <= high for low, high in map(ratio_interval, draws)]
        assert np.mean(covered) > 0.94


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (np.linspace(0.90, 0.97, 20), Verdict.FASTER),
        (np.linspace(1.03, 1.10, 20), Verdict.SLOWER),
        (np.linspace(0.995, 1.005, 20), Verdict.SAME),
        (np.linspace(0.90, 1.10, 20), Verdict.UNCERTAIN),
        (np.linspace(0.985, 0.995, 20), Verdict.UNCERTAIN),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(
    values: np.ndarray, verdict: Verdict
) -> None:
    assert verdict_on_pairs(values, 0.01) is verdict


def test_noise_alone_is_hardly_ever_called_faster() -> None:
    """A/A with 3 % noise and a 1 % floor: false winners stay under the promised one percent."""
    rng = np.random.default_rng(3)
    for count in (4, 7):
        draws = np.exp(rng.normal(0, 0.03, size=(4000, count)))
        faster = [verdict_on_pairs(values, 0.01) is Verdict.FASTER for values in draws]
        assert np.mean(faster) < 0.01


@pytest.mark.parametrize("processes", [5, 12])
@pytest.mark.parametrize("slow", [0.0, 0.03])
def test_the_interval_of_repeats_holds_the_truth_and_what_a_repeat_gives(
    processes: int, slow: float
) -> None:
    """Processes differ by more than the pairs in one of them show; in some, variant or reference
    comes to lie where it is slow."""
    rng = np.random.default_rng(1)

    def measured() -> list[np.ndarray]:
        placed = rng.random((2, processes)) < slow
        own = rng.normal(0, 0.01, processes) + math.log(1.4) * (placed[0].astype(int) - placed[1])
        return [np.exp(rng.normal(one, 0.03, 9)) for one in own]

    repeat = truth = 0
    for _ in range(400):
        low, high = repeat_interval(measured())
        later = float(np.median([np.median(one) for one in measured()]))
        repeat, truth = repeat + (low <= later <= high), truth + (low <= 1 <= high)
    assert repeat >= 0.93 * 400
    assert truth >= 0.97 * 400
