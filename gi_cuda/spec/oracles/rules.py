"""Rules for single values of an output, for oracles that judge values one by one.

With rules, a device can compare answers in its own memory. ``protocol/agreement.hpp`` has the
formulas of :mod:`gi_cuda.spec.oracles.compare`, so answers that obey the rules are right. The
oracle itself judges all other answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from gi_cuda.spec.numbers import NumberType


class Allowed(IntEnum):
    """Values that are allowed although their bits differ from the reference's.

    ``agreement.hpp`` uses the same numbers.
    """

    NEAR = 1
    """Values a with ``|a - r| <= absolute + relative * |r|`` if the reference's value r is finite,
    and NaN if r is NaN."""

    UNDEFINED = 2
    """NaN, if the reference's value is NaN."""

    DEFINED = 3
    """Any value; NaN only if the reference's value is NaN."""

    FINITE = 4
    """Any value; NaN or infinity only if the reference's value is."""


@dataclass(frozen=True, slots=True)
class ValueRule:
    """A rule for some values of an output.

    Attributes:
        allowed: values that are allowed.
        type: type of the values.
        absolute, relative: tolerances for `NEAR`.
        item: size of the struct that has the values as a member, bytes; 0: the values are the whole
            output.
        at: offset of the member, bytes.
        count: number of values of the member.
    """

    allowed: Allowed
    type: NumberType
    absolute: float = 0.0
    relative: float = 0.0
    item: int = 0
    at: int = 0
    count: int = 1


Rules: TypeAlias = Mapping[str, tuple[ValueRule, ...]]
"""Rules for each output; an empty tuple if its values are not judged."""
