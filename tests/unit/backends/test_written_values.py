"""Magnitudes of the numbers that a kernel wrote, and outputs that hold nothing but NaN."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.workers.cases.written import is_undefined, magnitudes


def test_how_large_written_numbers_are() -> None:
    poisoned = np.full(6, POISON, dtype=np.uint32).view(np.float32)
    poisoned[:4] = [1e-9, -3e-9, 2e-9, 0]
    kept = np.array([5, 7, np.inf, np.nan], dtype=np.float64)
    outputs = {
        "poisoned": poisoned,
        "same": kept,
        "changed": kept * [1, 3, 1, 1],
        "whole": np.arange(5),
        "zeros": np.zeros(3),
    }
    before = {"same": kept, "changed": kept}
    found = magnitudes(outputs, before)
    assert found == {"poisoned": np.float32(2e-9), "changed": 21}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_nan_in_a_part_of_poison_is_undefined_and_a_number_is_not(kind: type[np.floating]) -> None:
    """Every second element of poison is a number as float16."""
    output = np.full(8, POISON, dtype=np.uint32).view(kind)
    assert is_undefined(output, None)
    output[:2] = np.nan
    assert is_undefined(output, None)
    output[1] = 0.5
    assert not is_undefined(output, None)
