"""Inputs: words of 32 bits; sums, which begin at 0, followed by the value that gives a bit."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    state = np.zeros(2 * n, dtype=np.int32)
    state[n:] = rng.integers(1, 1000, n)
    return {"words": rng.integers(0, 2**32, n, dtype=np.uint32), "state": state, "n": n}
