"""Inputs: random numbers, a filter for constant memory, and counters at zero."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {
        "in": rng.integers(-100, 100, n).astype(np.float32),
        "taps": rng.integers(1, 9, 5).astype(np.float32),
        "count": np.zeros(1, dtype=np.uint32),
        "n": n,
    }
