"""Inputs: a random image of four bytes a pixel."""

import numpy as np


def case(seed: int, width: int, height: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, 4 * width * height, dtype=np.uint8)
    return {"pixels": pixels, "width": width, "height": height}
