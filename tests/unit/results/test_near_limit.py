"""Share of the limit that memory bandwidth sets."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.workers.answering.recording import moved_once
from gi_cuda.results.near_limit import amount, near_limit


def test_share_of_what_a_copy_reaches() -> None:
    words = str(near_limit(201_326_592, 1e-4, 4.2e12))
    assert (
        words == "201 MB if each input and output is moved once, 2.01 TB/s:"
        " 48% of what a copy reaches (4.2 TB/s)"
    )


def test_more_than_a_copy_reaches_is_due_to_caches() -> None:
    assert "caches" not in str(near_limit(1000, 1.0, 1000.0))
    assert str(near_limit(1300, 1.0, 1000.0)) == (
        "1.3 kB if each input and output is moved once, 1.3 kB/s:"
        " 130% of what a copy reaches (1 kB/s);"
        " it does not read all of its inputs, or reads them from caches"
    )


@pytest.mark.parametrize(
    ("moved", "seconds", "bandwidth"), [(0, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, None), (1, 1.0, 0.0)]
)
def test_nothing_is_said_of_what_is_not_known(
    moved: int, seconds: float, bandwidth: float | None
) -> None:
    assert near_limit(moved, seconds, bandwidth) is None


@pytest.mark.parametrize(
    ("number", "words"), [(5, "5 "), (999.6, "1 k"), (123_456, "123 k"), (4.82e12, "4.82 T")]
)
def test_numbers_have_three_digits(number: float, words: str) -> None:
    assert amount(number) == words


def test_inputs_are_read_once_and_what_is_written_is_written_once() -> None:
    inputs = {"a": np.zeros(10, np.float32), "c": np.zeros(4, np.float64)}
    outputs = {"b": np.zeros(6, np.int16), "c": np.zeros(4, np.float64)}
    assert moved_once(inputs, outputs, {"b": 5, "c": 3}) == 40 + 32 + 5 * 2 + 3 * 8
    assert moved_once({}, outputs, {"b": 0}) == 0
