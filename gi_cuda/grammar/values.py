"""Types of C++ expressions, as far as replacing one expression by another depends on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

RANKS: dict[str, int] = {
    "bool": 0,
    "char": 0,
    "signed char": 0,
    "unsigned char": 0,
    "short": 1,
    "unsigned short": 1,
    "int": 2,
    "unsigned int": 3,
    "long": 4,
    "unsigned long": 5,
    "long long": 6,
    "unsigned long long": 7,
    "float": 8,
    "double": 9,
    "long double": 10,
}
"""Conversion rank of each arithmetic type: an operation on two types has the higher type."""
_FLOATING = RANKS["float"]
ENUM = "enum "
"""Prefix of the base of an unscoped enumeration; it converts to an integer, but not back."""


@dataclass(frozen=True, slots=True)
class Type:
    """A C++ type.

    Attributes:
        base: name of the innermost type, without qualifiers and with type aliases resolved.
        levels: pointer and array levels around the base, outermost first: ``*`` or ``[4]``.
        const: True if the base is const.
    """

    base: str
    levels: tuple[str, ...] = ()
    const: bool = False

    @property
    def integral(self) -> bool:
        """Tell whether the type is an integer or an unscoped enumeration."""
        return not self.levels and (self.base.startswith(ENUM) or self.rank in range(_FLOATING))

    @property
    def floating(self) -> bool:
        """Tell whether the type is a floating-point type."""
        return not self.levels and self.rank >= _FLOATING

    @property
    def arithmetic(self) -> bool:
        """Tell whether the type is a number: an integer, unscoped enumeration or floating-point."""
        return self.integral or self.floating

    @property
    def pointer(self) -> bool:
        """Tell whether the type is a pointer, or an array, which decays to a pointer."""
        return bool(self.levels)

    @property
    def rank(self) -> int:
        """The conversion rank among the arithmetic types; -1 for other types."""
        return RANKS.get(self.base, -1)

    @property
    def value(self) -> Type:
        """The type of the value: arrays decay to pointers; a variable's own const is dropped."""
        if self.levels:
            return Type(self.base, ("*", *self.levels[1:]), self.const)
        return Type(self.base)

    @property
    def pointee(self) -> Type:
        """The type of the elements that a pointer or array refers to."""
        return Type(self.base, self.levels[1:], self.const)

    @property
    def address(self) -> Type:
        """The type of the address of a variable of this type."""
        return Type(self.base, ("*", *self.levels), self.const)


INT = Type("int")
BOOL = Type("bool")


def arithmetic_result(one: Type, other: Type) -> Type | None:
    """Return the type of a sum of two numbers; None if either type is not arithmetic."""
    if not (one.arithmetic and other.arithmetic):
        return None
    higher = max((INT, one, other), key=lambda type_: type_.rank)
    return Type(higher.base)


class Strictness(Enum):
    """The degree to which a donor's type must match the type that a place wants."""

    EXACT = "this type and no other"
    KIND = "an integer for an integer, a fraction for a fraction, a pointer to the same"
    CONVERTIBLE = "what converts without loss of kind"


@dataclass(frozen=True, slots=True)
class Demand:
    """The requirement of a place on the expressions that may go there.

    Attributes:
        type: the type that the place wants.
        need: the degree to which a donor's type must match.
        variable: True if only a modifiable variable may go there, because the place may bind it to
            a reference.
    """

    type: Type
    need: Strictness = Strictness.KIND
    variable: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """The type of an expression, and the requirement of its place.

    Attributes:
        type: type of the expression as a donor.
        variable: True if the expression is a modifiable variable.
        demand: the requirement on expressions that replace it.
    """

    type: Type
    variable: bool
    demand: Demand


def fits(demand: Demand, donor: Value) -> bool:
    """Tell whether a donor satisfies the requirement of a place."""
    wanted, given = demand.type.value, donor.type.value
    if demand.variable and not donor.variable:
        return False
    if wanted == given:
        # Where only the very type will do, an array is not the pointer that it becomes.
        return demand.need is not Strictness.EXACT or demand.type.levels[:1] in (
            (),
            ("*",),
            donor.type.levels[:1],
        )
    if demand.need is Strictness.EXACT:
        return False
    if wanted.pointer:
        same = (wanted.base, wanted.levels) == (given.base, given.levels)
        return same and wanted.const and len(wanted.levels) == 1
    if wanted.base.startswith(ENUM):
        return False
    if wanted.integral:
        return given.integral
    if wanted.floating:
        return given.floating or (demand.need is Strictness.CONVERTIBLE and given.integral)
    return False
