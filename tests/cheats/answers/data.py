"""Inputs: random numbers, and levels to start from."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    values = rng.random((2, n), dtype=np.float32)
    return {"in": values[0], "level": values[1], "n": n}
