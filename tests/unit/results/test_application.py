"""Conclusions from times of a whole application."""

from __future__ import annotations

import math

import pytest

from gi_cuda.results.application import ApplicationResult, Timing, timing
from gi_cuda.results.speed_up import SpeedUp


def test_each_pair_of_runs_counts_as_a_process() -> None:
    taken = timing([(2.0 + 0.01 * at, 1.0 + 0.01 * at) for at in range(20)])
    assert taken.before == pytest.approx(2.095)
    assert taken.after == pytest.approx(1.095)
    assert taken.speed_up.value == pytest.approx(2.095 / 1.095, rel=1e-3)
    assert 1.8 < taken.speed_up.low < taken.speed_up.value < taken.speed_up.high < 2.0


def test_few_pairs_have_a_wide_interval_that_ends() -> None:
    taken = timing([(2.0, 1.0), (2.1, 1.0), (2.0, 1.1), (2.0, 1.05)])
    assert 1.0 < taken.speed_up.low < 1.9 < taken.speed_up.high < math.inf


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(2.0, 1.0)], "speed-up 2.00, which so few runs do not tell for certain"),
        ([(2.0, 1.0), (2.0, 2.0), (2.0, 1.5)], "speed-up 1.33, which so few runs do not tell"),
        ([(2.0, 1.0), (2.02, 1.0), (2.0, 1.01)], "speed-up 2.000 ["),
    ],
)
def test_an_interval_is_shown_where_it_says_something(
    pairs: list[tuple[float, float]], said: str
) -> None:
    result = ApplicationResult("./program", pairs=len(pairs), program=timing(pairs))
    _, program = result.lines()
    assert f"whole program: {said}" in program
    assert result.fault == ""


@pytest.mark.parametrize(
    ("program", "kernel", "fault"),
    [
        ((1.0, 0.9, 1.1), None, ""),
        ((0.99, 0.985, 0.995), None, ""),  # within what is never taken for more than noise
        ((0.9, 0.85, 0.95), None, "the whole program is slower with the patch: speed-up 0.900"),
        ((0.9, 0.8, 1.1), (0.9, 0.8, 0.95), "the kernel in it is slower with the patch"),
        ((1.2, 1.1, 1.3), (2.0, 1.9, 2.1), ""),
    ],
)
def test_what_is_certainly_slower_speaks_against_a_patch(
    program: tuple[float, float, float], kernel: tuple[float, float, float] | None, fault: str
) -> None:
    result = ApplicationResult(
        "./program",
        program=Timing(SpeedUp(*program), 1.0, 1.0),
        kernel=kernel and Timing(SpeedUp(*kernel), 1.0, 1.0),
    )
    assert result.fault.startswith(fault)
    assert bool(result.fault) is bool(fault)
