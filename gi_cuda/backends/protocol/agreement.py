"""Rules for the values of an output, as ``agreement.hpp`` reads them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from gi_cuda.spec.numbers import NumberType, SmallFloat
from gi_cuda.spec.oracles import ValueRule

_FORMAT: Final = "@ddQQ9I4x"

NOTHING: Final = bytes(struct.calcsize(_FORMAT))
"""A rule without values."""

_HALF: Final = SmallFloat(16, 10, 15, 0x7BFF, infinite=True, saturates=False)
"""Compilers of host code have no type for it."""

_SIGNED, _UNSIGNED, _FLOAT, _SMALL = range(4)


def packed(rule: ValueRule, size: int) -> bytes:
    """A rule for an output of so many bytes."""
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
    """The number of values that a packed rule is about."""
    return int(struct.unpack(_FORMAT, known)[2])


def _numbers(kind: NumberType) -> tuple[int, tuple[int, int, int, int]]:
    """The kind of numbers, and the format of small floats."""
    small = _HALF if kind.name == "float16" else kind.small
    if small is not None:
        return _SMALL, (small.mantissa, small.bias, small.most, small.infinite)
    return {"i": _SIGNED, "u": _UNSIGNED, "f": _FLOAT}[kind.dtype.kind], (0, 0, 0, 0)


def same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Compare two arrays of one size, byte for byte: eight at a time take an eighth."""
    unit = np.uint8 if one.nbytes % 8 else np.uint64
    return np.array_equal(one.view(unit), other.view(unit))


def digest(outputs: Mapping[str, NDArray[Any]]) -> bytes:
    """A 128-bit hash of outputs."""
    found = xxhash.xxh3_128()
    for name, array in sorted(outputs.items()):
        found.update(f"{name} {array.dtype} {array.size} ".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.digest()
