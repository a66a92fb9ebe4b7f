"""Pointers that lie in memory: what a case gives for them, and what they are on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.target import Buffer, Target

NOWHERE = np.uint64(2**64 - 1)
"""What a case gives for a null pointer."""

_FARTHEST = np.uint64(2**40)
"""No buffer has so many elements."""


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
    widths = {one.name: np.uint64(one.dtype.itemsize) for one in target.buffers}
    for name in buffer.addresses:
        pointers = _pointers(found, buffer, name)
        nowhere = pointers == NOWHERE
        pointers *= widths[name]
        pointers += np.uint64(address(name))
        pointers[nowhere] = 0
    return found


def numbered(
    target: Target, buffer: Buffer, held: NDArray[Any], address: Callable[[str], int]
) -> NDArray[Any]:
    """What a buffer held on a device, where addresses have become numbers of elements again.

    So answers are the same wherever buffers lie. An address that leads to no element of the buffer
    that it should lead into stays as it is.

    Args:
        held: what was there after a launch.
        address: of the first element of a buffer.
    """
    if not buffer.addresses:
        return held
    found = np.array(held)
    widths = {one.name: np.uint64(one.dtype.itemsize) for one in target.buffers}
    for name in buffer.addresses:
        pointers = _pointers(found, buffer, name)
        null, distances = pointers == 0, pointers - np.uint64(address(name))
        numbers = distances // widths[name]
        inside = (numbers * widths[name] == distances) & (numbers <= _FARTHEST)
        np.copyto(pointers, numbers, where=inside)
        pointers[null] = NOWHERE
    return found


def _pointers(values: NDArray[Any], buffer: Buffer, name: str) -> NDArray[np.uint64]:
    """Those of a buffer's items that lead into another buffer, in place."""
    layout = np.dtype(
        {
            "names": [name],
            "formats": [np.uint64],
            "offsets": [buffer.addresses[name]],
            "itemsize": buffer.item or buffer.dtype.itemsize,
        }
    )
    return values.view(layout)[name]
