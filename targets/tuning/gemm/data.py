"""Matrices, and their product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(
    seed: int, m: int, n: int, k: int, alpha: float, beta: float
) -> dict[str, np.ndarray | int | float]:
    """Return the buffers and scalars of one case.

    All elements are positive, so that nothing cancels and a relative tolerance has a meaning.
    """
    rng = np.random.default_rng(seed)
    a, b, c = (rng.random(shape, dtype=np.float32) for shape in ((m, k), (k, n), (m, n)))
    return {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k, "alpha": alpha, "beta": beta}


def answers(
    seed: int, m: int, n: int, k: int, alpha: float, beta: float
) -> dict[str, NDArray[np.float32]]:
    """Return the result, computed in double precision."""
    given = case(seed, m, n, k, alpha, beta)
    a, b, c = (np.asarray(given[name], np.float64) for name in ("a", "b", "c"))
    return {"c": (alpha * (a @ b) + beta * c).ravel().astype(np.float32)}
