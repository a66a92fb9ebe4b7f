"""How many runs are one sample of a time."""

import pytest

from gi_cuda.backends.workers.case_runner import runs_of_a_sample


@pytest.mark.parametrize(
    ("seconds", "runs"), [(0.0, 16), (5e-6, 16), (2e-5, 10), (1e-4, 2), (2e-4, 1), (3.0, 1)]
)
def test_short_runs_are_repeated(seconds: float, runs: int) -> None:
    assert runs_of_a_sample(seconds) == runs


@pytest.mark.parametrize(("whole", "runs"), [(1e-3, 16), (0.02, 5), (0.2, 1)])
def test_short_runs_with_large_buffers_are_repeated_less(whole: float, runs: int) -> None:
    assert runs_of_a_sample(5e-6, whole) == runs
