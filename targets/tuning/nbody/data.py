"""Bodies with masses, and the acceleration that they give each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(seed: int, bodies: int, softening: float) -> dict[str, np.ndarray | int | float]:
    """Return the buffers and scalars of one case.

    Args:
        softening: square of the length that softens distances.
    """
    rng = np.random.default_rng(seed)
    places = rng.uniform(-1.0, 1.0, (bodies, 3))
    masses = rng.uniform(0.5, 1.5, (bodies, 1)) / bodies
    rows = np.hstack([places, masses]).astype(np.float32)
    return {"bodies": rows, "body_columns": rows.T.copy(), "n": bodies, "softening": softening}


def expected(seed: int, bodies: int, softening: float) -> dict[str, NDArray[np.float32]]:
    """Return the accelerations in x, y and z, computed in double precision.

    ``check`` would ask a function ``answers`` for all cases, which takes minutes for large ones.
    """
    rows = np.asarray(case(seed, bodies, softening)["bodies"], np.float64)
    found = np.zeros((3, bodies))
    for i in range(bodies):
        away = rows[:, :3] - rows[i, :3]
        pull = rows[:, 3] / ((away**2).sum(axis=1) + softening) ** 1.5
        found[:, i] = pull @ away
    return {"acceleration": found.ravel().astype(np.float32)}
