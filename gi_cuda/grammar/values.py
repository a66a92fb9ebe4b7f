"""Types of expressions, as far as replacing one expression by another has to know them."""

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
"""The arithmetic types by what becomes of two of them in one operation: the higher one."""
_FLOATING = RANKS["float"]
ENUM = "enum "
"""How the base of an unscoped enumeration begins: it converts to an integer, not back."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type.

    Attributes:
        base: its name without qualifiers, type aliases resolved.
        levels: what is around the base, outermost first: ``*`` or ``[4]``.
        const: whether the base, at the end of the levels, is const.
    """

    base: str
    levels: tuple[str, ...] = ()
    const: bool = False

    @property
    def integral(self) -> bool:
        """Whether it converts to an integer without loss of a fraction."""
        return not self.levels and (self.base.startswith(ENUM) or self.rank in range(_FLOATING))

    @property
    def floating(self) -> bool:
        """Whether it is a floating-point number."""
        return not self.levels and self.rank >= _FLOATING

    @property
    def arithmetic(self) -> bool:
        """Whether it is a number."""
        return self.integral or self.floating

    @property
    def pointer(self) -> bool:
        """Whether it is a pointer, or an array, which becomes one."""
        return bool(self.levels)

    @property
    def rank(self) -> int:
        """Its place among the arithmetic types; -1 if it is none of them."""
        return RANKS.get(self.base, -1)

    @property
    def value(self) -> Type:
        """The type of its value: an array's is a pointer; a variable's own const is gone."""
        if self.levels:
            return Type(self.base, ("*", *self.levels[1:]), self.const)
        return Type(self.base)

    @property
    def pointee(self) -> Type:
        """What a pointer or array leads to."""
        return Type(self.base, self.levels[1:], self.const)

    @property
    def address(self) -> Type:
        """The type of the address of such a variable."""
        return Type(self.base, ("*", *self.levels), self.const)


INT = Type("int")
BOOL = Type("bool")


def arithmetic_result(one: Type, other: Type) -> Type | None:
    """The type of a sum of two numbers; None where one is no number."""
    if not (one.arithmetic and other.arithmetic):
        return None
    higher = max((INT, one, other), key=lambda type_: type_.rank)
    return Type(higher.base)


class Strictness(Enum):
    """How closely what stands in a place must keep to the type that is wanted there."""

    EXACT = "this type and no other"
    KIND = "an integer for an integer, a fraction for a fraction, a pointer to the same"
    CONVERTIBLE = "what converts without loss of kind"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a place takes.

    Attributes:
        type: the type wanted there.
        need: how closely.
        variable: only a variable that may be changed (it may be bound to a reference).
    """

    type: Type
    need: Strictness = Strictness.KIND
    variable: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression is, and what may stand in its place.

    Attributes:
        type: its type as a donor.
        variable: whether it is a variable that may be changed.
        demand: what its place takes.
    """

    type: Type
    variable: bool
    demand: Demand


def fits(demand: Demand, donor: Value) -> bool:
    """Whether a donor's type is one that a place takes."""
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
