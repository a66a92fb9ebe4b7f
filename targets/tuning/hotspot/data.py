"""A chip whose cells use power, and its temperatures after some steps of time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def case(seed: int, width: int, height: int, steps: int) -> dict[str, np.ndarray | int | float]:
    """Return the buffers and scalars of one case: temperatures are degrees above 300."""
    rng = np.random.default_rng(seed)
    across, down, loss, gain = rng.uniform(0.05, 0.2, 4).astype(np.float32)
    return {
        "power": rng.random((height, width), dtype=np.float32),
        "temperature": rng.uniform(20.0, 40.0, (height, width)).astype(np.float32),
        "width": width,
        "height": height,
        "steps": steps,
        "across": across,
        "down": down,
        "loss": loss,
        "gain": gain,
        "air": float(rng.integers(10, 20)),
    }


def expected(seed: int, width: int, height: int, steps: int) -> dict[str, NDArray[np.float32]]:
    """Return the temperatures, computed in double precision.

    ``check`` would ask a function ``answers`` for all cases, which takes minutes for large ones.
    """
    given = case(seed, width, height, steps)
    now, power = (np.asarray(given[name], np.float64) for name in ("temperature", "power"))
    across, down, loss, gain, air = (
        float(given[name]) for name in ("across", "down", "loss", "gain", "air")
    )
    for _ in range(steps):
        around = np.pad(now, 1, mode="edge")
        now = (
            now
            + gain * power
            + across * (around[1:-1, :-2] + around[1:-1, 2:] - 2.0 * now)
            + down * (around[:-2, 1:-1] + around[2:, 1:-1] - 2.0 * now)
            + loss * (air - now)
        )
    return {"temperature": now.ravel().astype(np.float32)}
