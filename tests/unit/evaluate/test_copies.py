"""Devices that are too noisy beside others."""

from __future__ import annotations

from gi_cuda.evaluate.copies import QUIETER, noisy
from gi_cuda.results.verdict import NOISY


def test_a_device_that_is_much_noisier_than_another_is_left() -> None:
    assert noisy({0: 0.004, 1: 2 * NOISY, 2: NOISY / 2}) == [1]


def test_where_all_are_noisy_all_are_used() -> None:
    assert noisy({0: 3 * NOISY, 1: 3 * NOISY * QUIETER}) == []
    assert noisy({0: 3 * NOISY}) == []


def test_one_that_is_quiet_enough_is_used_beside_one_that_is_quieter() -> None:
    assert noisy({0: NOISY / 100, 1: NOISY}) == []
