"""Substitutes for the inputs of a case, to see how a program behaves on other inputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec import Buffer
from gi_cuda.spec.case_data.other_sizes import OtherCase
from gi_cuda.spec.numbers import SmallFloat

_SEED: Final = 59
"""Seed of random numbers, so that every process draws the same."""

_LARGE: Final = 1 << 22
"""Number of values above which an array is reversed, because shuffling it would take seconds."""

_PERIOD: Final = 4_194_301
"""Period, a prime number, after which random values repeat: drawing a gigabyte would take
seconds."""

_LITTLE, _FAR = 0.05, 2.0**60
"""_LITTLE: value for members that are 0 in all structs. _FAR: bound on the magnitude below which
four bytes look like a real number."""

_STRUCTS: Final = re.compile(r"\* *(\d+)$")
"""The end of the size of a buffer of structs, e.g. of ``n * 36``."""

_FEW: Final = 97
"""Distance between the values that are replaced by NaN or infinity."""


class Substitute(StrEnum):
    """A kind of value that replaces an input."""

    ZERO = "zeros"
    ONE = "1"
    MINUS_ONE = "-1"
    TWO = "2"
    HALF = "half of it"
    NEGATIVE = "its negative"
    UPPER = "half of it in the upper half as well"
    MORE = "a quarter more"
    FIVEFOLD = "five times as much"
    THOUSANDFOLD = "a thousand times as much"
    OPPOSITE = "its opposite"
    THOUSANDFOLD_NEGATIVE = "a thousand times its negative"
    LOWERED = "much smaller numbers, all negative,"
    THOUSANDTH = "a thousandth of it"
    NOT_ZERO = "numbers that are not zero"
    BETWEEN = "other numbers between its least and its greatest"
    SIGNED = "other numbers of both signs"
    PERMUTED = "its values in another order"
    REPEATED = "one of its values everywhere"
    INDICES = "any of the indices of its elements"
    MEMBERS = "other values of its members"
    WHOLE_RANGE = "integers of all sizes"
    NEGATIVE_ZERO = "negative zeros"
    SUBNORMAL = "subnormal numbers"
    UNDEFINED = "some NaN among its values"
    INFINITE = "some infinities among its values"

    @property
    def quick(self) -> bool:
        """Tell whether a quick check tries it; such substitutes keep indices valid."""
        return self in _QUICK

    @property
    def to_overflow(self) -> bool:
        """Tell whether the substitute tests for overflow only.

        The oracle's tolerance was chosen for the case's own numbers. With such large numbers,
        harmless differences in rounding exceed it.
        """
        return self in (
            Substitute.THOUSANDFOLD,
            Substitute.THOUSANDFOLD_NEGATIVE,
            Substitute.LOWERED,
        )

    @property
    def scaled(self) -> bool:
        """Tell whether outputs, and the tolerance with them, may become smaller."""
        return self is Substitute.THOUSANDTH

    @property
    def special(self) -> bool:
        """Tell whether programs that are right on all ordinary values may still differ on this one.

        The larger of a number and NaN may be either; an integer may be an index to elements that
        the reference happens not to read; and -1 may be nonsense as a size or a mode.
        """
        return self in (
            Substitute.MINUS_ONE,
            Substitute.UNDEFINED,
            Substitute.INFINITE,
            Substitute.NEGATIVE_ZERO,
            Substitute.SUBNORMAL,
            Substitute.WHOLE_RANGE,
        )

    def contents(
        self, array: NDArray[Any], small: SmallFloat | None = None, item: int = 0
    ) -> NDArray[Any]:
        """Return the contents that replace a buffer's own.

        They are the same contents if the substitute has no meaning for their type.

        Args:
            array: the buffer's contents in memory layout.
            small: format of the small floats that its integers encode, if any.
            item: bytes of a struct, if the buffer holds structs.
        """
        if self is Substitute.MEMBERS:
            return _members(array, item)
        with np.errstate(over="ignore"):
            if small is not None:
                return small.codes(_CONTENTS[self](small.floats(array)))
            made: NDArray[Any] = _CONTENTS[self](array).astype(array.dtype, copy=False)
        return made

    def of(self, value: np.generic) -> np.generic:
        """Return the value that replaces a scalar, of the same type."""
        given = value.item()
        made = {
            Substitute.ZERO: 0,
            Substitute.ONE: 1,
            Substitute.MINUS_ONE: -1,
            Substitute.TWO: 2,
            Substitute.HALF: given // 2,
            Substitute.MORE: given * 1.25,
            Substitute.FIVEFOLD: given * 5,
            Substitute.OPPOSITE: -given,
        }
        return value.dtype.type(made[self])


_QUICK: Final = frozenset(
    {
        Substitute.ZERO,
        Substitute.ONE,
        Substitute.MINUS_ONE,
        Substitute.TWO,
        Substitute.HALF,
        Substitute.NEGATIVE,
        Substitute.UPPER,
        Substitute.MORE,
        Substitute.FIVEFOLD,
        Substitute.THOUSANDFOLD,
        Substitute.THOUSANDTH,
        Substitute.NOT_ZERO,
        Substitute.BETWEEN,
        Substitute.SIGNED,
        Substitute.PERMUTED,
        Substitute.MEMBERS,
    }
)


@dataclass(frozen=True, slots=True)
class Joint:
    """Several substitutes at once: the effect of one input may show only when another one changes.

    Attributes:
        parts: inputs, each with its substitute.
        case: case that the other inputs come from; None: the smallest.
    """

    parts: tuple[tuple[str, Substitute], ...]
    case: OtherCase | None = None

    @property
    def scaled(self) -> bool:
        """Tell whether outputs, and the tolerance with them, may become smaller."""
        return self.case is not None or all(other.scaled for _, other in self.parts)

    @property
    def special(self) -> bool:
        """Tell whether programs that are right on all ordinary values may still differ on these."""
        return any(other.special for _, other in self.parts)

    def __str__(self) -> str:
        places: dict[str, list[str]] = {}
        for name, other in self.parts:
            places.setdefault(other, []).append(name)
        said = [f"{other} in place of {' and '.join(names)}" for other, names in places.items()]
        return ", ".join([*said, str(self.case)] if self.case else said)


@dataclass(frozen=True, slots=True)
class InPlace:
    """An output that shares the memory of an input, as when a caller runs a kernel in place.

    Attributes:
        input, output: names of buffers.
    """

    input: str
    output: str

    scaled: ClassVar[bool] = False
    special: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"{self.output} in the memory of the input {self.input}"


Other: TypeAlias = Substitute | OtherCase | Joint | InPlace

Substituted: TypeAlias = tuple[str, Other]
"""The name of an input and its substitute; or a description and a case, or several substitutes."""


def struct_size(buffer: Buffer) -> int:
    """Return the bytes of a struct, if a buffer holds structs of more than one member; else 0."""
    size = buffer.item or 0
    if not size and buffer.size is not None and buffer.dtype.itemsize == 1:
        found = _STRUCTS.search(buffer.size.text)
        size = int(found[1]) if found else 0
    return size if size > 4 and not buffer.type.real else 0


def _permuted(array: NDArray[Any]) -> NDArray[Any]:
    """Shuffle the values, unless they are sorted, since they may have to be."""
    if array.size < 2 or not np.any(array[1:] < array[:-1]):
        return array
    if array.size > _LARGE:
        return np.ascontiguousarray(array[::-1])
    made: NDArray[Any] = np.random.default_rng(_SEED).permutation(array)
    return made


def _between(array: NDArray[Any]) -> NDArray[Any]:
    """Draw other values from the same range, sorted if the given ones are."""
    finite = array if array.dtype.kind in "iu" else array[np.isfinite(array)]
    if not finite.size:
        return array
    made = _drawn(array, finite.min(), finite.max())
    return made if np.any(array[1:] < array[:-1]) else np.sort(made)


def _signed(array: NDArray[Any]) -> NDArray[Any]:
    finite = np.abs(array[np.isfinite(array)])
    most = finite.max() if finite.size else 1.0
    return _drawn(array, -most, most)


def _drawn(array: NDArray[Any], least: Any, most: Any) -> NDArray[Any]:
    """Draw numbers between two bounds, as many as ``array`` has; integers include both bounds."""
    rng, count = np.random.default_rng(_SEED), min(array.size, _PERIOD)
    if array.dtype.kind in "iu":
        whole = rng.integers(least, most, count, array.dtype, endpoint=True)
        return np.resize(whole, array.size)
    kind = np.float64 if array.itemsize == 8 else np.float32
    share = rng.random(count, dtype=kind)
    return np.resize(kind(least) * (1 - share) + kind(most) * share, array.size)


def _repeated(array: NDArray[Any]) -> NDArray[Any]:
    return np.full_like(array, array[array.size // 2])


def _lowered(array: NDArray[Any]) -> NDArray[Any]:
    """Subtract 1000 times the largest magnitude."""
    made: NDArray[Any] = array - array.dtype.type(1000) * np.max(np.abs(array), initial=1)
    return made


def _not_zero(array: NDArray[Any]) -> NDArray[Any]:
    """Return values from 1 to 7 if all values are zero, else the same values."""
    return array if array.any() else np.arange(array.size) * 5 % 7 + 1


def _indices(array: NDArray[Any]) -> NDArray[Any]:
    most = min(array.size, np.iinfo(array.dtype).max)
    found = np.random.default_rng(_SEED).integers(0, most, min(array.size, _PERIOD))
    return np.resize(found, array.size)


def _whole_range(array: NDArray[Any]) -> NDArray[Any]:
    """Draw integers whose number of bits is uniform, of both signs if the type is signed."""
    rng, limits = np.random.default_rng(_SEED), np.iinfo(array.dtype)
    count = min(array.size, _PERIOD)
    digits = rng.integers(0, array.itemsize * 8 - (limits.min < 0), count, endpoint=True)
    made = rng.integers(0, limits.max, count, array.dtype, endpoint=True)
    made >>= (digits.max() - digits).astype(array.dtype)
    if limits.min < 0:
        np.invert(made, out=made, where=rng.random(count) < 0.5)
    return np.resize(made, array.size)


def _members(array: NDArray[Any], item: int) -> NDArray[Any]:
    """Replace the members of structs.

    Four bytes that look like a real number in all structs are scaled by a random factor. Others are
    shuffled among the structs. Members that are 0 in all structs become a small number.
    """
    if item < 4 or item % 4 or array.nbytes % item:
        return array
    words = array.view(np.uint32).reshape(-1, item // 4).copy()
    rng = np.random.default_rng(_SEED)
    shares = rng.uniform(0.5, 1.5, len(words)).astype(np.float32)
    for at in range(words.shape[1]):
        bits = words[:, at].copy()
        sizes = np.abs(bits.view(np.float32))
        if not bits.any():
            words[:, at] = (_LITTLE * shares).view(np.uint32)
        elif np.all((sizes == 0) | ((sizes > 1 / _FAR) & (sizes < _FAR))):
            words[:, at] = (bits.view(np.float32) * shares).view(np.uint32)
        else:
            words[:, at] = rng.permutation(bits)
    return words.reshape(-1).view(array.dtype)


def _with(value: float, array: NDArray[Any]) -> NDArray[Any]:
    """Replace a few values by ``value`` and its negative."""
    made: NDArray[Any] = array.copy()
    made[_FEW // 2 :: _FEW] = value
    made[_FEW // 2 :: 2 * _FEW] = -value
    return made


def _subnormal(array: NDArray[Any]) -> NDArray[Any]:
    least = np.finfo(array.dtype).smallest_subnormal
    made: NDArray[Any] = np.sign(array) * (np.arange(array.size) % 9 + 1) * least
    return made


_CONTENTS: Final[dict[Substitute, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    Substitute.ZERO: np.zeros_like,
    Substitute.NEGATIVE: np.negative,
    Substitute.UPPER: lambda array: array + (array // 2 << 32),
    Substitute.FIVEFOLD: lambda array: array * array.dtype.type(5),
    Substitute.THOUSANDFOLD: lambda array: array * array.dtype.type(1000),
    Substitute.THOUSANDFOLD_NEGATIVE: lambda array: array * array.dtype.type(-1000),
    Substitute.LOWERED: _lowered,
    Substitute.THOUSANDTH: lambda array: array / array.dtype.type(1000),
    Substitute.NOT_ZERO: _not_zero,
    Substitute.BETWEEN: _between,
    Substitute.SIGNED: _signed,
    Substitute.PERMUTED: _permuted,
    Substitute.REPEATED: _repeated,
    Substitute.INDICES: _indices,
    Substitute.WHOLE_RANGE: _whole_range,
    Substitute.NEGATIVE_ZERO: lambda array: np.full_like(array, -0.0),
    Substitute.SUBNORMAL: _subnormal,
    Substitute.UNDEFINED: lambda array: _with(np.nan, array),
    Substitute.INFINITE: lambda array: _with(np.inf, array),
}
"""Functions from a buffer's contents to those that replace it."""
