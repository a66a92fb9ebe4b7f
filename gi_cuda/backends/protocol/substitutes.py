"""What stands in the place of an input, to see what a program does with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Substitute(StrEnum):
    """What stands in the place of an input."""

    ZERO = "zeros"
    ONE = "1"
    TWO = "2"
    HALF = "half of it"
    NEGATIVE = "its negative"
    UPPER = "half of it in the upper half as well"
    MORE = "a quarter more"
    FIVEFOLD = "five times as much"
    THOUSANDFOLD = "a thousand times as much"

    @property
    def to_overflow(self) -> bool:
        """Whether what matters is that nothing overflows. What is allowed was said for the case's
        own numbers, and what is rounded otherwise is far off with such."""
        return self is Substitute.THOUSANDFOLD

    def contents(self, array: NDArray[Any]) -> NDArray[Any]:
        """What stands in the place of a buffer's contents: zeros, the negative of real numbers or
        so many times as much, or for integers of 64 bits, which may be two in one, another one in
        the upper half."""
        made: NDArray[Any] = np.zeros_like(array)
        if self is Substitute.NEGATIVE:
            made = -array
        if self is Substitute.FIVEFOLD:
            made = array * array.dtype.type(5)
        if self is Substitute.THOUSANDFOLD:
            with np.errstate(over="ignore"):
                made = array * array.dtype.type(1000)
        if self is Substitute.UPPER:
            made = array + (array // 2 << 32)
        return made

    def of(self, value: np.generic) -> np.generic:
        """What stands in the place of a scalar, of the same type."""
        given = value.item()
        made = {
            Substitute.ZERO: 0,
            Substitute.ONE: 1,
            Substitute.TWO: 2,
            Substitute.HALF: given // 2,
            Substitute.MORE: given * 1.25,
            Substitute.FIVEFOLD: given * 5,
        }
        return value.dtype.type(made[self])


Substituted: TypeAlias = tuple[str, Substitute]
"""An input, and what stands in its place."""
