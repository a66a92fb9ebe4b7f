"""Inputs: random numbers, and settings of which one never varies."""

import numpy as np

SETTINGS = np.dtype([("gain", "f4"), ("shift", "i4")])


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    settings = np.array([(rng.random(), 3)], SETTINGS)
    numbers = rng.random(n, dtype=np.float32)
    arrays = {"in": numbers, "weak": numbers + 1, "settings": settings.view(np.uint8)}
    return arrays | {"n": n, "mode": 2}
