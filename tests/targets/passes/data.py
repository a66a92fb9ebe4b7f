"""Inputs: random integers, a row of them a thread."""

import numpy as np


def case(seed: int, rows: int, n: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**32, rows * n, dtype=np.uint32)
    return {"in": values, "rows": rows, "n": n}
