"""Inputs: small random numbers."""

import numpy as np


def case(seed: int, n: int, radius: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {"in": rng.random(n, dtype=np.float32), "n": n, "radius": radius}
