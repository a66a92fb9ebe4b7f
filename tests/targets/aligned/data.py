"""Small random integers, and a struct of two."""

import numpy as np


def case(seed: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    given = rng.integers(-1000, 1000, n, dtype=np.int32)
    return {"in": given, "factor": 7, "shift": seed, "n": n}
