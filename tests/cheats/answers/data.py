"""Inputs: random numbers, levels to start from, and a drift that changes next to nothing."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    values = rng.random((3, n), dtype=np.float32)
    return {"in": values[0], "level": values[1], "drift": values[2] * np.float32(1e-8), "n": n}
