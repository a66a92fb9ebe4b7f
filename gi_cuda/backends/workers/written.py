"""What was written to judged buffers, and whether it is one value everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON

_SAMPLE = 1 << 16
"""About so many items of a buffer say how large they are."""

_BLOCK = 1 << 16
"""Items that are looked at at a time; a multiple of those in a word of poison."""

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
    """Tell whether there is NaN wherever something was written.

    Args:
        before: what was there; None for poison, which is NaN.
    """
    if array.dtype.kind != "f":
        return False
    some = False
    for items, old in _blocks(array, before):
        bits = f"u{array.itemsize}"
        written = items if old is None else items[items.view(bits) != old.view(bits)]
        if not np.isnan(written).all():
            return False
        some |= written.size > 0
    return some


def changes(array: NDArray[Any], before: NDArray[Any]) -> int:
    """Count the items that became others."""
    return sum(_written(items, old).size for items, old in _blocks(array, before))


def _blocks(
    array: NDArray[Any], before: NDArray[Any] | None
) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """Items with what was there before, block by block: most often the first one tells."""
    items = np.ascontiguousarray(array).reshape(-1)
    old = None if before is None else np.ascontiguousarray(before).reshape(-1)
    for begin in range(0, items.size, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        yield items[block], None if old is None else old[block]


def magnitudes(
    outputs: Mapping[str, NDArray[Any]], before: Mapping[str, NDArray[Any]]
) -> dict[str, float]:
    """The median size of what was written that is neither 0 nor undefined, of each buffer of real
    numbers that has such; of a large buffer, of some thousands of items all over it.

    Args:
        outputs, before: as :func:`only_value` has them.
    """
    found = {}
    for name, array in outputs.items():
        if array.dtype.kind == "f":
            items = _written(array, before.get(name))
            # An odd step, so that not all of them are in one column of a matrix.
            sizes = np.abs(items[:: (items.size // _SAMPLE) | 1].view(array.dtype))
            if (told := sizes[np.isfinite(sizes) & (sizes > 0)]).size:
                found[name] = float(np.median(told))
    return found


def _written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[Any]:
    """The items that were written, as the unsigned integers of their size that have their bits."""
    items = np.ascontiguousarray(array).reshape(-1).view(np.dtype(f"u{array.itemsize}"))
    found: NDArray[Any] = items[were_written(array, before)]
    return found


def were_written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Tell of each item whether it was written.

    Args:
        before: what was there; None for poison.
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
