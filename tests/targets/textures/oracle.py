"""Oracle of the launches: expected results by numpy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

TOLERANCE = 1e-4


def penalty(
    case: Mapping[str, Any], outputs: Mapping[str, Any], reference: Mapping[str, Any]
) -> tuple[float, str]:
    """Return the number of wrong values and a message on the first."""
    wanted, found = expected(case), outputs["out"]
    wrong = ~np.isclose(found, wanted, rtol=TOLERANCE / 10, atol=TOLERANCE)
    if not wrong.any():
        return 0.0, ""
    at = int(np.argmax(wrong))
    return float(wrong.sum()), f"out[{at}] is {found[at]}, expected {wanted[at]}"


def expected(case: Mapping[str, Any]) -> np.ndarray:
    """Return the weighted bits of each stretch, spread repeatedly, with zeros around weights."""
    words = case["text_words"].reshape(-1, 4).view(np.uint8)
    weights = case["weight_bytes"] / 255
    sums = np.concatenate([[0], np.cumsum(weights * np.unpackbits(words, axis=1).sum(axis=1))])
    begins, ends = case["stretch_ends"].reshape(-1, 2).T
    values = sums[ends] - sums[begins]
    n = int(case["n"])
    around = np.zeros(2 * (n + len(weights)))
    around[n : n + len(weights)] = weights
    at = n + np.arange(n)
    for number in range(int(case["rounds"])):
        values = values / 2 + around[at - 1 - number] - around[at + 1 + number]
    return values
