"""Find the values that were written to judged buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON

_SAMPLE = 1 << 16
"""Number of items of a buffer, about, from which magnitudes are computed."""

_BLOCK = 1 << 16
"""Number of items per block; a multiple of the number in a word of poison."""

_SOME = 8
"""Number of items from which it is suspicious that all are the same."""


def only_value(outputs: Mapping[str, NDArray[Any]], before: Mapping[str, NDArray[Any]]) -> str:
    """Return a description of the written values, if each buffer was written with one value only.

    Else, or if few items were written in all, return "".

    Args:
        outputs: contents of judged buffers.
        before: earlier contents of the buffers that the case gives; the others held poison.
    """
    found, items = [], 0
    for name, array in sorted(outputs.items()):
        first = None
        for some, old in _blocks(array, before.get(name)):
            written = _written(some, old)
            first = written[:1] if first is None or not first.size else first
            if (written != first).any():
                return ""
            items += written.size
        if first is not None and first.size:
            found.append(f"{name}: {first.tobytes().hex()}")
    return "; ".join(found) if items >= _SOME else ""


def is_undefined(array: NDArray[Any], before: NDArray[Any] | None) -> bool:
    """Tell whether all values that were written are NaN.

    Args:
        before: earlier contents; None for poison, which counts as NaN: of float16, every second
            element of poison is a number.
    """
    if array.dtype.kind != "f":
        return False
    some = False
    for items, old in _blocks(array, before):
        written = were_written(items, old)
        if not np.isnan(items[written]).all():
            return False
        some |= bool(written.any()) or old is None
    return some


def changes(array: NDArray[Any], before: NDArray[Any]) -> int:
    """Return the number of items that changed."""
    return sum(_written(items, old).size for items, old in _blocks(array, before))


def _blocks(
    array: NDArray[Any], before: NDArray[Any] | None
) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """Yield items with their earlier values by block: the first one often suffices."""
    items = np.ascontiguousarray(array).reshape(-1)
    old = None if before is None else np.ascontiguousarray(before).reshape(-1)
    for begin in range(0, items.size, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        yield items[block], None if old is None else old[block]


def magnitudes(
    outputs: Mapping[str, NDArray[Any]], before: Mapping[str, NDArray[Any]]
) -> dict[str, float]:
    """Return the median magnitude of the written values of each buffer of real numbers.

    Zeros, infinities and NaN do not count; buffers with no other values are left out. Of a large
    buffer some thousands of items are used.

    Args:
        outputs, before: see :func:`only_value`.
    """
    found = {}
    for name, array in outputs.items():
        if array.dtype.kind == "f":
            items = _written(array, before.get(name))
            # With an odd step, the items are not all in one column of a matrix.
            sizes = np.abs(items[:: (items.size // _SAMPLE) | 1].view(array.dtype))
            if (told := sizes[np.isfinite(sizes) & (sizes > 0)]).size:
                found[name] = float(np.median(told))
    return found


def _written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[Any]:
    """Return the items that were written, with their bits as unsigned integers."""
    items = np.ascontiguousarray(array).reshape(-1).view(np.dtype(f"u{array.itemsize}"))
    found: NDArray[Any] = items[were_written(array, before)]
    return found


def were_written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Return for each item whether it was written.

    Args:
        before: earlier contents; None for poison.
    """
    bits = np.dtype(f"u{array.itemsize}")
    items = np.ascontiguousarray(array).reshape(-1).view(bits)
    old: Any
    if before is None and array.itemsize % 4 == 0:
        old = np.full(array.itemsize // 4, POISON, dtype=np.uint32).view(bits)
    elif before is None:
        words = np.full(-(-items.nbytes // 4), POISON, dtype=np.uint32)
        old = words.view(np.uint8)[: items.nbytes].view(bits)
    else:
        old = np.ascontiguousarray(before).reshape(-1).view(bits)
    found: NDArray[np.bool_] = items != old
    return found
