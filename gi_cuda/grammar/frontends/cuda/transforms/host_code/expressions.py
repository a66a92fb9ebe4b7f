"""Expressions of host code by themselves: syntax, and the values of arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parse, parts

Number = int | Fraction
"""A value in C: an integer, or a fraction that stands for a floating-point number."""

DIVISION = re.compile(
    r"u?i?(?:int)?(?:div(?:ide)?_?(?:round_?)?up|ceil_?div|div_?ceil|(?:round_?)?up_?div)",
    re.IGNORECASE,
)
"""Names of functions that divide the first of two arguments by the second, and round up."""

HEAD = "auto v = "
"""The text in front of an expression that is parsed by itself."""

_INTEGER = re.compile(r"(?P<value>0[xX][\da-fA-F]+|0[0-7]*|[1-9]\d*)[uUlLzZ]*")
_FLOATING = re.compile(r"(?P<value>\d+\.\d*|\.\d+|\d+\.?\d*[eE][-+]?\d+)[fFlL]?")
_OF_INTEGER = re.compile(
    r"(?:const )?(?:std::)?(?:u?int(?:\d+_t)?|(?:(?:un)?signed|long|short|int|char) ?)+"
    r"|(?:const )?(?:std::)?s?size_t|u(?:long|char|short)|(?:std::)?ptrdiff_t"
)
_OF_FLOATING = re.compile(r"(?:const )?(?:float|double|long double)")


class Opaque(Exception):
    """An expression whose value is not known."""


@lru_cache(maxsize=4096)
def expression(text: str) -> Node | None:
    """Return the syntax tree of an expression; None where the text is none.

    The expression begins in the tree at ``len(HEAD)``.
    """
    root = parse(f"{HEAD}{text};")
    declaration = root.named_children[0] if root.named_children else None
    if root.has_error or declaration is None or declaration.type != "declaration":
        return None
    found = declaration.child_by_field_name("declarator")
    value = None if found is None else found.child_by_field_name("value")
    return value if value is not None and value.end_byte == len(HEAD) + len(text) else None


def plain(text: str) -> str:
    """Return an expression without white space."""
    return "".join(text.split())


def literal(text: str) -> int | None:
    """Return the value of an integer literal; None of any other text."""
    match = _INTEGER.fullmatch(text.strip())
    if match is None:
        return None
    digits = match["value"]
    return int(digits, 16 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" else 10)


def number(text: str) -> Number | None:
    """Return the value of a literal of any type; None of any other text."""
    whole = literal(text)
    if whole is not None:
        return whole
    match = _FLOATING.fullmatch(text.strip())
    return None if match is None else Fraction(match["value"])


def is_integral(type: str) -> bool:
    """Tell whether a type is one of integers."""
    return _OF_INTEGER.fullmatch(" ".join(type.split())) is not None


def is_floating(type: str) -> bool:
    """Tell whether a type is one of floating-point numbers."""
    return _OF_FLOATING.fullmatch(" ".join(type.split())) is not None


def _divided(a: Number, b: Number) -> Number:
    if isinstance(a, Fraction) or isinstance(b, Fraction):
        return Fraction(a) / Fraction(b)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _whole(a: Number) -> int:
    if isinstance(a, Fraction):
        raise Opaque
    return a


BINARY: dict[str, Callable[..., Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": lambda a, b: _whole(a) - _whole(b) * _whole(_divided(a, b)),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
    ">>": lambda a, b: _whole(a) >> _whole(b),
    "<<": lambda a, b: _whole(a) << _whole(b),
}
"""Binary operators of C by their spelling."""

UNARY: dict[str, Callable[..., Number]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "!": lambda a: int(not a),
}
"""Unary operators of C by their spelling."""

_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "ceil": lambda a: Fraction(-(-a // 1)),
    "ceilf": lambda a: Fraction(-(-a // 1)),
    "floor": lambda a: Fraction(a // 1),
    "floorf": lambda a: Fraction(a // 1),
    "min": min,
    "max": max,
}


def operands(node: Node) -> list[Node]:
    """Return the operands of an operation, in the order of C."""
    if node.type == "call_expression":
        return parts(node.child_by_field_name("arguments"))
    fields = ("left", "right", "argument", "condition", "consequence", "alternative", "value")
    found = (node.child_by_field_name(field) for field in fields)
    return [one for one in found if one is not None]


def conversion(type: str) -> Callable[..., Number] | None:
    """Return the conversion to a type; None where the type is no number."""
    if is_floating(type):
        return Fraction
    return int if is_integral(type) else None


def function(name: str) -> Callable[..., Number] | None:
    """Return a function of numbers, by its name: ``ceil``, ``std::min``, ``static_cast<int>``."""
    name = name.strip().removeprefix("::").removeprefix("std::")
    if match := re.fullmatch(r"static_cast\s*<(.*)>", name):
        return conversion(match[1].strip())
    if DIVISION.fullmatch(name.rpartition("::")[2]):
        return lambda a, b: -(-_whole(a) // _whole(b))
    return _FUNCTIONS.get(name) or conversion(name)
