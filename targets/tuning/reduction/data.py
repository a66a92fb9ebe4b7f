"""Floats, and a total that they are added to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(seed: int, n: int) -> dict[str, np.ndarray | int]:
    """Return the buffers and scalars of one case.

    All floats are positive, so that nothing cancels and a relative tolerance has a meaning.
    """
    rng = np.random.default_rng(seed)
    values, total = rng.random(n, dtype=np.float32), rng.random(1, dtype=np.float32)
    return {"values": values, "total": total, "n": n}


def answers(seed: int, n: int) -> dict[str, NDArray[np.float32]]:
    """Return the total, computed in double precision."""
    given = case(seed, n)
    values, total = (np.asarray(given[name], np.float64) for name in ("values", "total"))
    return {"total": (total + values.sum()).astype(np.float32)}
