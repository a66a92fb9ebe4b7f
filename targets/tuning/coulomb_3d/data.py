"""Atoms with charges, and the potential that they have on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(
    seed: int, atoms: int, width: int, height: int, depth: int, spacing: float
) -> dict[str, np.ndarray | int | float]:
    """Return the buffers and scalars of one case.

    Each atom lies near the middle between eight points of the grid, so that no distance is near 0.
    All charges are positive, so that nothing cancels and a relative tolerance has a meaning.
    """
    rng = np.random.default_rng(seed)
    points = np.array([width, height, depth])
    places = rng.integers(0, points, (atoms, 3)) + rng.uniform(0.3, 0.7, (atoms, 3))
    charges = rng.uniform(0.5, 1.5, (atoms, 1))
    rows = np.hstack([places * spacing, charges]).astype(np.float32)
    return {
        "atoms": rows,
        "atom_columns": rows.T.copy(),
        "constant_atoms": rows,
        "n_atoms": atoms,
        "width": width,
        "height": height,
        "depth": depth,
        "spacing": spacing,
    }


def expected(
    seed: int, atoms: int, width: int, height: int, depth: int, spacing: float
) -> dict[str, NDArray[np.float32]]:
    """Return the potential, computed in double precision.

    ``check`` would ask a function ``answers`` for all cases, which takes minutes for large ones.
    """
    rows = np.asarray(case(seed, atoms, width, height, depth, spacing)["atoms"], np.float64)
    z, y, x = (np.arange(n) * spacing for n in (depth, height, width))
    potential = np.zeros((depth, height, width))
    for ax, ay, az, charge in rows:
        square = (x - ax) ** 2 + (y[:, None] - ay) ** 2 + (z[:, None, None] - az) ** 2
        potential += charge / np.sqrt(square)
    return {"potential": potential.ravel().astype(np.float32)}
