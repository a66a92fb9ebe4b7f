"""Pointers that lie in memory: what a case gives for them, and what they are on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.target import Buffer, Target

NOWHERE = np.uint64(2**64 - 1)
"""What a case gives for a null pointer."""

SIZE = 8
"""Bytes of a pointer."""


def addressed(
    target: Target, buffer: Buffer, values: NDArray[Any], address: Callable[[str], int]
) -> NDArray[Any]:
    """What a buffer holds on a device, where numbers of elements have become addresses.

    Args:
        values: what the case gives.
        address: of the first element of a buffer.
    """
    if not buffer.addresses:
        return values
    found = np.array(values)
    items = found.view(np.uint8).reshape(-1, buffer.item or buffer.dtype.itemsize)
    widths = {one.name: one.dtype.itemsize for one in target.buffers}
    for name, at in buffer.addresses.items():
        numbers = items[:, at : at + SIZE].copy().view(np.uint64)
        places = numbers * np.uint64(widths[name]) + np.uint64(address(name))
        places[numbers == NOWHERE] = 0
        items[:, at : at + SIZE] = places.view(np.uint8)
    return found
