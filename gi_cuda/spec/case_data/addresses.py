"""Translate pointers in buffers between element numbers (in cases) and addresses (on a device)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.target import Buffer, Target

NOWHERE = np.uint64(2**64 - 1)
"""Element number by which a case denotes a null pointer."""

_FARTHEST = np.uint64(2**40)
"""Upper bound for the number of elements of a buffer."""


def addressed(
    target: Target, buffer: Buffer, values: NDArray[Any], address: Callable[[str], int]
) -> NDArray[Any]:
    """Replace the element numbers in a buffer by device addresses.

    Args:
        target: the target.
        buffer: the buffer.
        values: contents of the buffer in the case.
        address: returns the address of the first element of a buffer.
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
    """Replace the device addresses in a buffer by element numbers.

    The result does not depend on the addresses of buffers. An address outside of the buffer that it
    should point into, or between two elements, stays as it is.

    Args:
        target: the target.
        buffer: the buffer.
        held: contents of the buffer after a launch.
        address: returns the address of the first element of a buffer.
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
    """Return a view of the pointers in a buffer's items that point into the buffer `name`."""
    layout = np.dtype(
        {
            "names": [name],
            "formats": [np.uint64],
            "offsets": [buffer.addresses[name]],
            "itemsize": buffer.item or buffer.dtype.itemsize,
        }
    )
    return values.view(layout)[name]
