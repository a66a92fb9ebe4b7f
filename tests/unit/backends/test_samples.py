"""Number of runs that make one sample of a time."""

import pytest

from gi_cuda.backends.workers.cases.pace import pace


@pytest.mark.parametrize(
    ("seconds", "runs"), [(0.0, 16), (5e-6, 16), (2e-5, 10), (1e-4, 2), (2e-4, 1), (3.0, 1)]
)
def test_short_runs_are_repeated(seconds: float, runs: int) -> None:
    assert pace(seconds).repeats == runs


@pytest.mark.parametrize(("whole", "runs"), [(1e-3, 16), (0.01, 5), (0.2, 1)])
def test_short_runs_with_large_buffers_are_repeated_less(whole: float, runs: int) -> None:
    assert pace(5e-6, whole).repeats == runs


@pytest.mark.parametrize(
    ("seconds", "warmed"), [(2e-6, False), (5e-5, False), (4e-4, True), (2e-3, True), (0.05, False)]
)
def test_a_case_is_warmed_up_where_a_cold_run_would_count(seconds, warmed) -> None:
    """Not where a median leaves it out, nor where fetching the data is a small part of a run."""
    assert pace(seconds).warmed is warmed
