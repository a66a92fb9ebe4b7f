"""Rules of an oracle for each value of an output, where it judges values one by one.

A device can then look at answers where they lie. What it finds right is right by
:mod:`gi_cuda.spec.oracles.compare`, whose formulas ``protocol/agreement.hpp`` has; of all else the
oracle itself is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from gi_cuda.spec.numbers import NumberType


class Allowed(IntEnum):
    """Values that are good though they have not the bits of the reference's, as ``agreement.hpp``
    counts them."""

    NEAR = 1
    """``|a - r| <= absolute + relative * |r|`` for the reference's finite r, or NaN as r is."""

    UNDEFINED = 2
    """NaN, as the reference's is."""

    DEFINED = 3
    """Anything; NaN only where the reference's is."""

    FINITE = 4
    """Anything; NaN or infinite only where the reference's is."""


@dataclass(frozen=True, slots=True)
class ValueRule:
    """A rule for some values of an output.

    Attributes:
        type: of the values.
        absolute, relative: where they may be near.
        item: bytes of a struct of which they are a member; 0: they are all that there is.
        at: the first byte of the member.
        count: of values in it.
    """

    allowed: Allowed
    type: NumberType
    absolute: float = 0.0
    relative: float = 0.0
    item: int = 0
    at: int = 0
    count: int = 1


Rules: TypeAlias = Mapping[str, tuple[ValueRule, ...]]
"""For each output all that holds of its values; nothing where nothing is looked at."""
