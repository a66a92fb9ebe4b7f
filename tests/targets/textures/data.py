"""Inputs: random bits, short stretches of them, and weights of one byte each."""

import numpy as np


def case(seed: int, n: int, blocks: int, rounds: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, blocks - 8, n, dtype=np.uint32)
    ends = begins + rng.integers(0, 9, n, dtype=np.uint32)
    return {
        "text_words": rng.integers(0, 2**32, 4 * blocks, dtype=np.uint32),
        "stretch_ends": np.stack([begins, ends], axis=1),
        "weight_bytes": rng.integers(1, 256, blocks, dtype=np.uint8),
        "n": n,
        "rounds": rounds,
    }
