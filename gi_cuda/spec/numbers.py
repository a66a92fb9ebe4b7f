"""Types of the numbers in a buffer: numpy's types, and small floats that numpy lacks.

Small floats are stored as unsigned integers of their size (codes). Data modules may give them as
floats, which are rounded. Oracles see them as floats.
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
        bits: size of a number, bits.
        mantissa: stored bits of the mantissa.
        bias: bias of the exponent.
        most: code of the largest finite number.
        infinite: whether code `most` + 1 is infinity; all larger codes, and this one otherwise, are
            NaN.
        saturates: whether CUDA rounds larger numbers to the largest finite number.
    """

    bits: int
    mantissa: int
    bias: int
    most: int
    infinite: bool
    saturates: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """Integer type of the codes."""
        return np.dtype(f"uint{self.bits}")

    def floats(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Convert codes to floats."""
        values: NDArray[np.float32] = _values(self)[codes]
        return values

    def codes(self, floats: NDArray[Any]) -> NDArray[Any]:
        """Round floats to codes: to the nearest number, ties to even; NaN stays NaN.

        Args:
            floats: floats of 32 or 64 bits.
        """
        sizes = _values(self)[: self.most + 1].astype(np.float64)
        step = sizes[-1] - sizes[-2]
        size = np.abs(floats.astype(np.float64))
        # Midpoints between neighbours; a size at a midpoint goes to the even neighbour.
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
    """Return the float value of each code."""
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
"""Small floats by their names in a target."""


@dataclass(frozen=True, slots=True)
class NumberType:
    """The type of a buffer's numbers, by its name in a target."""

    name: str

    @property
    def small(self) -> SmallFloat | None:
        """The small float; None if numpy has the type."""
        return SMALL_FLOATS.get(self.name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Numpy's type of the stored numbers."""
        return np.dtype(self.name) if self.small is None else self.small.dtype

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger number."""
        return float(np.finfo(self.dtype).eps) if self.small is None else 2.0**-self.small.mantissa

    @property
    def real(self) -> bool:
        """Tell whether the type is a floating-point type."""
        return self.small is not None or self.dtype.kind == "f"


def in_memory(values: NDArray[Any], kind: NumberType) -> NDArray[Any]:
    """Convert numbers from an oracle's floats to the stored form. The bits of a NaN may change."""
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
    """Convert stored numbers to the form that an oracle sees: small floats become floats."""
    small = kind.small
    return values if small is None else small.floats(values)
