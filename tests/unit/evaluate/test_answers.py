"""Distance of answers from the reference's, and its description."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.evaluate.answers import Difference, answer_words, difference

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("got", "want", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], Difference(0, 2, 0.0, 0.0)),
        ([1.0, 2.5], [1.0, 2.0], Difference(1, 2, 0.5, 0.25)),
        ([1.0, -3.0, 8.0], [2.0, -4.0, 8.0], Difference(2, 3, 1.0, 0.125)),
        ([NAN, 1.0], [NAN, 1.0], Difference(0, 2, 0.0, 0.0)),
        ([INF, 1.0], [INF, 2.0], Difference(1, 2, 1.0, 0.5)),
        ([0.5], [0.0], Difference(1, 1, 0.5, 0.0)),
        ([NAN, 1.5], [1.0, 1.0], Difference(2, 2, INF, INF)),
        ([], [], Difference(0, 0, 0.0, 0.0)),
    ],
)
def test_real_numbers_have_a_distance(
    got: list[float], want: list[float], expected: Difference
) -> None:
    assert difference(np.array(got, np.float32), np.array(want, np.float32)) == expected


def test_other_values_are_counted() -> None:
    assert difference(np.array([1, 2, 3]), np.array([1, 0, 0])) == Difference(2, 3)


def test_cases_are_put_together() -> None:
    both = Difference(1, 10, 0.5, 0.1) + Difference(2, 5, 0.25, 0.2)
    assert both == Difference(3, 15, 0.5, 0.2)
    assert Difference(1, 2) + Difference(0, 3) == Difference(1, 5)


def test_words() -> None:
    same, far = Difference(0, 10, 0.0, 0.0), Difference(3, 10, 2.4e-7, 1.2e-7)
    assert answer_words(None) == ""
    assert answer_words({"a": same}).endswith("those of the original, bit for bit")
    assert answer_words({"a": same, "b": far, "n": Difference(1, 4)}).endswith(
        "beside the original's: b: 3 of 10 values differ, by at most 2.4e-07 (1.2e-07 of the"
        " largest); n: 1 of 4 values differ"
    )
