"""A matrix, and the same transposed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(seed: int, width: int, height: int) -> dict[str, np.ndarray | int]:
    """Return the buffers and scalars of one case."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((height, width), dtype=np.float32)
    return {"in_matrix": matrix, "width": width, "height": height}


def answers(seed: int, width: int, height: int) -> dict[str, NDArray[np.float32]]:
    """Return the transposed matrix."""
    matrix = np.asarray(case(seed, width, height)["in_matrix"], np.float32)
    return {"out_matrix": matrix.T.ravel()}
