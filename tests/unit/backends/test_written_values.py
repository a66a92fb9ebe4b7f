"""Magnitudes of the numbers that a kernel wrote."""

from __future__ import annotations

import numpy as np

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.workers.written import magnitudes


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
