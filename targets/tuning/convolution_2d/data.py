"""An image and a filter, and their convolution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FILTER = 9
"""Rows and columns of the filter, as in kernel.cu."""


def case(seed: int, width: int, height: int) -> dict[str, np.ndarray | int]:
    """Return the buffers and scalars of one case.

    All numbers are positive, so that nothing cancels and a relative tolerance has a meaning.
    """
    rng = np.random.default_rng(seed)
    image = rng.random((height + FILTER - 1, width + FILTER - 1), dtype=np.float32)
    weights = rng.random((FILTER, FILTER), dtype=np.float32)
    return {
        "image": image,
        "weights": weights,
        "constant_weights": weights,
        "width": width,
        "height": height,
    }


def expected(seed: int, width: int, height: int) -> dict[str, NDArray[np.float32]]:
    """Return the convolution, computed in double precision.

    ``check`` would ask a function ``answers`` for all cases, which takes minutes for large ones.
    """
    given = case(seed, width, height)
    image, weights = (np.asarray(given[name], np.float64) for name in ("image", "weights"))
    result = np.zeros((height, width))
    for (dy, dx), weight in np.ndenumerate(weights):
        result += weight * image[dy : dy + height, dx : dx + width]
    return {"result": result.ravel().astype(np.float32)}
