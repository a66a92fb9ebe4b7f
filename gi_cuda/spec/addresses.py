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
    items = found.view(np.uint8).reshape(-1, buffer.item or buffer.dtype.itemsize)
    widths = {one.name: one.dtype.itemsize for one in target.buffers}
    for name, at in buffer.addresses.items():
        numbers = items[:, at : at + SIZE].copy().view(np.uint64)
        places = numbers * np.uint64(widths[name]) + np.uint64(address(name))
        places[numbers == NOWHERE] = 0
        items[:, at : at + SIZE] = places.view(np.uint8)
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
    items = found.view(np.uint8).reshape(-1, buffer.item or buffer.dtype.itemsize)
    widths = {one.name: one.dtype.itemsize for one in target.buffers}
    for name, at in buffer.addresses.items():
        places = items[:, at : at + SIZE].copy().view(np.uint64)
        numbers, rest = np.divmod(places - np.uint64(address(name)), np.uint64(widths[name]))
        numbers = np.where((rest == 0) & (numbers <= _FARTHEST), numbers, places)
        items[:, at : at + SIZE] = np.where(places == 0, NOWHERE, numbers).view(np.uint8)
    return found
