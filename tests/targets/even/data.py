"""Inputs: small random integers."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {"in": rng.integers(-1000, 1000, n, dtype=np.int32), "n": n}
