"""Inputs of which each alone changes little, two factors of 1, and a limit that is not reached."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    values = rng.random(n, dtype=np.float32)
    return {
        "in": values,
        "copy": values,
        "range": rng.integers(8, 64, n, dtype=np.uint64),
        "kind": rng.integers(1, 9, n, dtype=np.uint8),
        "trail": rng.random(n, dtype=np.float32) * np.float32(1e-6),
        "gain": 1.0,
        "lean": 1e-6,
        "scale": 1.0,
        "most": 64,
        "n": n,
    }
