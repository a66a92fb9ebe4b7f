"""Inputs: small random integers."""

import numpy as np


def case(seed: int, width: int, height: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 100, width * height, dtype=np.int32)
    weights = rng.integers(-8, 9, 16, dtype=np.int32)
    return {"cells": cells, "weights": weights, "width": width, "height": height}
