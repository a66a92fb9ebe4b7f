"""Values between 0 and 1."""

import numpy as np


def case(seed, n):
    rng = np.random.default_rng(seed)
    zeros = {"bins": 8, "most": 1, "done": 1}
    return {
        "in": rng.random(n, dtype=np.float32),
        "totals": np.zeros(7, np.float32),
        **{name: np.zeros(count, np.int32) for name, count in zeros.items()},
        "n": n,
    }
