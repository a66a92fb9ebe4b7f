"""Types of the numbers in a buffer: numpy's, and floats that numpy has none of.

These lie in memory as integers of their size. Data modules may give them as floats, which are
rounded, and oracles see floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """A binary floating-point format.

    Attributes:
        bits: of a number.
        mantissa: bits that are kept of it.
        bias: of the exponent.
        most: the code of the largest finite number.
        infinite: whether the code behind it is infinite; else it is NaN, as are all others.
        saturates: whether CUDA rounds what lies beyond to the largest finite number.
    """

    bits: int
    mantissa: int
    bias: int
    most: int
    infinite: bool
    saturates: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The integers that it lies in memory as."""
        return np.dtype(f"uint{self.bits}")

    def floats(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """What codes stand for."""
        values: NDArray[np.float32] = _values(self)[codes]
        return values

    def codes(self, floats: NDArray[Any]) -> NDArray[Any]:
        """The nearest of its numbers, of two the even one; NaN stays NaN.

        Args:
            floats: of 32 or 64 bits.
        """
        sizes = _values(self)[: self.most + 1].astype(np.float64)
        step = sizes[-1] - sizes[-2]
        size = np.abs(floats.astype(np.float64))
        # Halfway to the one before; there the even one of both is it.
        middles = (sizes + np.append(sizes[1:], sizes[-1] + step)) / 2
        found = np.searchsorted(middles, size)
        found += (size == middles[np.minimum(found, self.most)]) & (found % 2 == 1)
        found = np.minimum(found, self.most + (not self.saturates))
        sign = np.signbit(floats).astype(found.dtype) << (self.bits - 1)
        nan = (1 << (self.bits - 1)) - 1
        codes = np.where(np.isnan(floats), nan, found | sign)
        return codes.astype(self.dtype)


@lru_cache(maxsize=3)
def _values(kind: SmallFloat) -> NDArray[np.float32]:
    """What each code stands for."""
    half = np.arange(1 << (kind.bits - 1))
    exponent, rest = half >> kind.mantissa, half & ((1 << kind.mantissa) - 1)
    whole = rest + ((exponent > 0) << kind.mantissa)
    with np.errstate(over="ignore"):
        sizes = np.ldexp(whole.astype(float), np.maximum(exponent, 1) - kind.bias - kind.mantissa)
        sizes = sizes.astype(np.float32)
    sizes[kind.most + 1 :] = np.nan
    if kind.infinite:
        sizes[kind.most + 1] = np.inf
    return np.concatenate([sizes, -sizes])


SMALL_FLOATS = {
    "bfloat16": SmallFloat(16, 7, 127, 0x7F7F, infinite=True, saturates=False),
    "float8_e4m3": SmallFloat(8, 3, 7, 0x7E, infinite=False, saturates=True),
    "float8_e5m2": SmallFloat(8, 2, 15, 0x7B, infinite=True, saturates=True),
}
"""By the names that a target has for them."""


@dataclass(frozen=True, slots=True)
class NumberType:
    """The type of a buffer's numbers, by its name in a target."""

    name: str

    @property
    def small(self) -> SmallFloat | None:
        """What it is where numpy has no such type."""
        return SMALL_FLOATS.get(self.name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """As it lies in memory."""
        return np.dtype(self.name) if self.small is None else self.small.dtype

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next larger real number."""
        return float(np.finfo(self.dtype).eps) if self.small is None else 2.0**-self.small.mantissa

    @property
    def real(self) -> bool:
        """Tell whether these are real numbers, of which there is NaN."""
        return self.small is not None or self.dtype.kind == "f"


def in_memory(values: NDArray[Any], kind: NumberType) -> NDArray[Any]:
    """Numbers of that type as an oracle sees them, put as they lie in memory; one NaN is as good as
    another."""
    small = kind.small
    if small is None:
        return values
    if small.bits == 16:  # the upper half of a float
        return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(small.dtype)
    codes = np.arange(1 << small.bits, dtype=small.dtype)
    found = np.full(1 << 16, (1 << small.bits - 1) - 1, small.dtype)  # NaN
    found[small.floats(codes).astype(np.float16).view(np.uint16)] = codes
    memory: NDArray[Any] = found[values.astype(np.float16).view(np.uint16)]
    return memory


def seen(values: NDArray[Any], kind: NumberType) -> NDArray[Any]:
    """What lies in memory as an oracle sees it."""
    small = kind.small
    return values if small is None else small.floats(values)
