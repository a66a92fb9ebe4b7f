"""Pack rules for the values of an output into the binary format that ``agreement.hpp`` reads."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.numbers import NumberType, SmallFloat
from gi_cuda.spec.oracles import ValueRule

_FORMAT: Final = "@ddQQ9I4x"

NOTHING: Final = bytes(struct.calcsize(_FORMAT))
"""A packed rule for no values."""

_HALF: Final = SmallFloat(16, 10, 15, 0x7BFF, infinite=True, saturates=False)
"""Format of float16, for which compilers of host code have no type."""

_SIGNED, _UNSIGNED, _FLOAT, _SMALL = range(4)


def packed(rule: ValueRule, size: int) -> bytes:
    """Return the packed form of a rule.

    Args:
        size: bytes of the output.
    """
    width = rule.type.dtype.itemsize
    item = rule.item or width
    numbers, small = _numbers(rule.type)
    return struct.pack(
        _FORMAT,
        rule.absolute,
        rule.relative,
        size // item * rule.count,
        item,
        rule.at,
        rule.count,
        width,
        rule.allowed,
        numbers,
        *small,
    )


def values(known: bytes) -> int:
    """Return the number of values that a packed rule covers."""
    return int(struct.unpack(_FORMAT, known)[2])


def _numbers(kind: NumberType) -> tuple[int, tuple[int, int, int, int]]:
    """Return the code of a number type, and the format of small floats (zeros for other types)."""
    small = _HALF if kind.name == "float16" else kind.small
    if small is not None:
        return _SMALL, (small.mantissa, small.bias, small.most, small.infinite)
    return {"i": _SIGNED, "u": _UNSIGNED, "f": _FLOAT}[kind.dtype.kind], (0, 0, 0, 0)


def same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Tell whether two arrays of one size are equal byte for byte.

    Eight bytes at a time take an eighth of the time.
    """
    unit = np.uint8 if one.nbytes % 8 else np.uint64
    return np.array_equal(one.view(unit), other.view(unit))
