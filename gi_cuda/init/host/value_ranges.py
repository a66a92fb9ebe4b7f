"""Ranges of expressions of host code, in particular of random numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, first_macro, walk
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.init.host.host import HostCode, enclosing_function, plain_name

_RAND_MAX = 2**31 - 1
_DEPTH = 12
"""Largest depth of nested expressions and calls that is followed."""

_REAL = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[fFlL]?")
_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_WHOLE_TYPE = re.compile(r"\b(?:u?int\d*(?:_t)?|char|short|long|unsigned|signed|size_t)\b")
_DISTRIBUTION = re.compile(r"\buniform_(?P<kind>real|int)_distribution\b")


@dataclass(frozen=True, slots=True)
class Range:
    """A closed interval of values.

    Attributes:
        low, high: its ends.
        whole: True if all values are integers.
    """

    low: float
    high: float
    whole: bool

    def joined(self, other: Range) -> Range:
        """Return the smallest range that contains both ranges."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Range(low, high, self.whole and other.whole)

    def cut(self) -> Range:
        """Return the range after conversion to an integer, which truncates towards zero."""
        return Range(math.trunc(self.low), math.trunc(self.high), True)


_RANDOM = Range(0, _RAND_MAX, True)
_CALLS = {
    **dict.fromkeys(("rand", "random", "lrand48"), _RANDOM),
    "drand48": Range(0, 1, False),
    **dict.fromkeys(("sin", "sinf", "cos", "cosf", "tanh", "tanhf"), Range(-1, 1, False)),
}


def range_of(host: HostCode, code: CudaFile, node: Node, depth: int = 0) -> Range | None:
    """Return the range of an expression; None if unknown.

    Args:
        host: the host code, for constants and macros.
        code: the file that has the expression.
        node: the expression.
        depth: number of expressions and calls around it that were followed.
    """
    if depth > _DEPTH:
        return None
    own, within = code.of(node).strip(), parts(node)

    def inner(one: Node | None) -> Range | None:
        return None if one is None else range_of(host, code, one, depth + 1)

    match node.type:
        case "number_literal":
            return _number(own)
        case "char_literal" if len(own) == 3:
            return Range(ord(own[1]), ord(own[1]), True)
        case "identifier":
            return _named(host, own)
        case "parenthesized_expression" if len(within) == 1:
            return inner(within[0])
        case "cast_expression":
            kind = node.child_by_field_name("type")
            value = inner(node.child_by_field_name("value"))
            return value and _cast("" if kind is None else code.of(kind), value)
        case "binary_expression":
            operator = node.child_by_field_name("operator")
            a, b = (inner(node.child_by_field_name(one)) for one in ("left", "right"))
            return None if operator is None else _combined(operator.type, a, b)
        case "call_expression":
            return _called(host, code, node, depth)
    return None


def _number(text: str) -> Range | None:
    if whole := _INTEGER.fullmatch(text):
        value = int(whole[2], 16 if whole[2][:2] in ("0x", "0X") else 10)
        value = -value if whole[1] else value
        return Range(value, value, True)
    if _REAL.fullmatch(text):
        real = float(text.rstrip("fFlL"))
        return Range(real, real, False) if math.isfinite(real) else None
    return None


def _named(host: HostCode, name: str) -> Range | None:
    """Return the range of a constant or macro; variables are not followed."""
    if name == "RAND_MAX":
        return Range(_RAND_MAX, _RAND_MAX, True)
    macro = first_macro(host.codes, name)
    text = macro.body if macro and macro.parameters is None else host.constants.get(name, "")
    return _number(text.strip("() "))


def _cast(kind: str, value: Range) -> Range:
    return value.cut() if _WHOLE_TYPE.search(kind) else Range(value.low, value.high, False)


def _combined(operator: str, a: Range | None, b: Range | None) -> Range | None:
    if b is not None and b.whole and b.low == b.high > 0 and operator in ("%", "&"):
        # Assume that an unknown left operand, such as an index, is not negative.
        most = b.high - (operator == "%")
        return Range(0 if a is None or a.low >= 0 or operator == "&" else -most, most, True)
    if a is None or b is None:
        return None
    whole = a.whole and b.whole
    match operator:
        case "+":
            return Range(a.low + b.low, a.high + b.high, whole)
        case "-":
            return Range(a.low - b.high, a.high - b.low, whole)
        case "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        case "/" if b.low > 0 or b.high < 0:
            ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
        case _:
            return None
    found = Range(min(ends), max(ends), whole)
    return found.cut() if whole else found


def _called(host: HostCode, code: CudaFile, node: Node, depth: int) -> Range | None:
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return None
    text, values = code.of(called), parts(given)
    if len(values) == 1 and (text.startswith("static_cast") or called.type == "primitive_type"):
        value = range_of(host, code, values[0], depth + 1)
        return value and _cast(text, value)
    if len(values) == 1 and (found := _distributed(host, code, node, text)) is not None:
        return found
    return _CALLS.get(plain_name(text))


def _distributed(host: HostCode, code: CudaFile, node: Node, name: str) -> Range | None:
    """Return the range of a call of a ``std::uniform_*_distribution``, by its constructor
    arguments.
    """
    function = enclosing_function(node)
    for one in walk(code.root if function is None else function):
        kind = one.child_by_field_name("type") if one.type == "declaration" else None
        found = None if kind is None else _DISTRIBUTION.search(code.of(kind))
        if found is None:
            continue
        for declared in one.children_by_field_name("declarator"):
            own = name_node(declared)
            if own is not None and code.of(own) == name:
                ends = parts(declared.child_by_field_name("value"))
                return _between(host, code, ends, whole=found["kind"] == "int")
    return None


def _between(host: HostCode, code: CudaFile, ends: list[Node], *, whole: bool) -> Range | None:
    """Return the range between two constructor arguments of a distribution; None if unknown."""
    known = [range_of(host, code, one) for one in ends]
    low, high = known if len(known) == 2 else (None, None)
    return None if low is None or high is None else Range(low.low, high.high, whole)
