"""Spoiling parts all over a large output."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.workers.answering import spoiling
from gi_cuda.backends.workers.answering.spoiling import _some


@pytest.fixture(autouse=True)
def short_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoiling, "_SLAB", 96)


def test_a_small_output_is_taken_whole() -> None:
    small = np.arange(16 * 24, dtype=np.float32)
    assert _some(small, 4) is small


@pytest.mark.parametrize("unit", [4, 12, 48])
@pytest.mark.parametrize("spare", [0, 1, 7])
def test_parts_begin_with_the_first_item_and_end_with_the_last(unit: int, spare: int) -> None:
    large = np.arange(100 * unit // 4 * 12 + spare, dtype=np.float32)
    found = _some(large, unit)
    assert found.size == 16 * (96 // 4)
    assert found[0] == 0
    assert found[-1] == large.size - 1 - large.size % (unit // 4)


def test_no_item_is_cut() -> None:
    large = np.arange(1 << 16, dtype=np.int32)
    found = _some(large, 20).reshape(-1, 5)
    assert (found[:, 0] % 5 == 0).all()
    assert (np.diff(found, axis=1) == 1).all()


def test_an_item_that_is_longer_than_a_part_is_not_cut_either() -> None:
    large = np.arange(1 << 12, dtype=np.int32)
    assert _some(large, 400) is large
