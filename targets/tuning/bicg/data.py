"""A matrix and two vectors, and the products of both with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(seed: int, rows: int, columns: int) -> dict[str, np.ndarray | int]:
    """Return the buffers and scalars of one case.

    All numbers are positive, so that nothing cancels and a relative tolerance has a meaning.
    """
    rng = np.random.default_rng(seed)
    return {
        "a": rng.random((rows, columns), dtype=np.float32),
        "p": rng.random(columns, dtype=np.float32),
        "r": rng.random(rows, dtype=np.float32),
        "s": rng.random(columns, dtype=np.float32),
        "rows": rows,
        "columns": columns,
    }


def answers(seed: int, rows: int, columns: int) -> dict[str, NDArray[np.float32]]:
    """Return both products, computed in double precision."""
    given = case(seed, rows, columns)
    a, p, r, s = (np.asarray(given[name], np.float64) for name in ("a", "p", "r", "s"))
    return {"q": (a @ p).astype(np.float32), "s": (s + r @ a).astype(np.float32)}
