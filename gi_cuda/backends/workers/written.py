"""What was written to judged buffers, and whether it is one value everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON

_SOME = 8
"""Items of which one expects that they are not all the same."""


def only_value(outputs: Mapping[str, NDArray[Any]], before: Mapping[str, NDArray[Any]]) -> str:
    """What all items that were written are, where each buffer got one value; "" where some got
    several, or there are few items in all.

    Args:
        outputs: what judged buffers hold.
        before: what those held that the case gives; the others held poison.
    """
    found, items = [], 0
    for name, array in sorted(outputs.items()):
        written = _written(array, before.get(name))
        if not len(written):
            continue
        if (written != written[0]).any():
            return ""
        items += len(written)
        found.append(f"{name}: {written[0].tobytes().hex()}")
    return "; ".join(found) if items >= _SOME else ""


def _written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[np.uint8]:
    """The items that were written, as bytes."""
    items: NDArray[np.uint8] = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    if before is None:
        words = np.full(-(-items.size // 4), POISON, dtype=np.uint32)
        old = words.view(np.uint8)[: items.size].reshape(items.shape)
    else:
        old = np.ascontiguousarray(before).view(np.uint8).reshape(items.shape)
    changed: NDArray[np.bool_] = (items != old).any(axis=1)
    return items[changed]
