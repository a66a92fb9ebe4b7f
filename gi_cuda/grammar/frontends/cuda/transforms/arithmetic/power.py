"""Powers with a literal exponent become products and roots; divisions by powers, products."""

from __future__ import annotations

from fractions import Fraction

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import OfFunctions
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import (
    DOUBLE,
    FLOAT,
    is_pure,
    literal_value,
    math_call,
    number_type,
    operator,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, replacing

_POWERS = {
    Fraction(2): "{x} * {x}",
    Fraction(3): "{x} * {x} * {x}",
    Fraction(4): "({x} * {x}) * ({x} * {x})",
    Fraction(-1): "{one} / {x}",
    Fraction(-2): "{one} / ({x} * {x})",
    Fraction(1, 2): "sqrt{f}({x})",
    Fraction(-1, 2): "rsqrt{f}({x})",
    Fraction(1, 4): "sqrt{f}(sqrt{f}({x}))",
    Fraction(3, 2): "{x} * sqrt{f}({x})",
}
"""The expression for each exponent."""

_RECIPROCALS = {"sqrt": "rsqrt", "cbrt": "rcbrt"}
"""Functions whose reciprocal is another function, for example ``sqrt`` and ``rsqrt``."""

_NEGATED = frozenset({"exp", "exp2", "exp10", "pow"})
"""Functions whose reciprocal is the same function with a negated last argument."""

_TERMS = frozenset(
    {
        *("identifier", "subscript_expression", "field_expression", "call_expression"),
        "parenthesized_expression",
    }
)
_LOOSE = frozenset(
    {
        *("argument_list", "parenthesized_expression", "init_declarator", "return_statement"),
        *("assignment_expression", "expression_statement"),
    }
)
"""Nodes in which a product needs no parentheses."""

_SUMS = frozenset({"+", "-", "<", ">", "<=", ">=", "==", "!=", "&&", "||"})
"""Operators that bind less tightly than those of a product."""


class Power(OfFunctions):
    """``<power_kernel.cu_8><power_K>`` writes out the powers with a literal exponent in a function,
    and multiplies by the reciprocals of roots, powers and exponential functions.

    Before and after: ``a * powf(x, 3.0f)`` becomes ``a * (x * x * x)``, ``pow(d, 0.5)`` becomes
    ``sqrt(d)``, and ``a / sqrtf(x)`` becomes ``a * rsqrtf(x)``. The answers differ in the last
    bits; the oracle's tolerance decides.
    """

    type = RuleType.POWER

    def splices(self, code: Code, function: Function) -> list[Splice]:
        """Replace calls and divisions; those in the base of another one stay."""
        found: list[Splice] = []
        for node in descend(function.body):
            if found and node.start_byte < found[-1].end:
                continue
            if text := _written_out(code, function, node):
                found.append(replacing(node.start_byte, node.end_byte, text))
            else:
                found += _multiplied(code, function, node)
        return found


def _multiplied(code: Code, function: Function, division: Node) -> list[Splice]:
    """Return the changes that make a division by a function a product; none for anything else."""
    sides = (division.child_by_field_name(one) for one in ("left", "operator", "right"))
    left, sign, right = sides
    if left is None or sign is None or right is None or sign.type not in ("/", "/="):
        return []
    name, arguments = math_call(code, unparenthesized(right))
    type_ = number_type(code, right, function)
    if "#" in code.span(division) or type_ not in (FLOAT, DOUBLE):
        return []
    if sign.type == "/" and number_type(code, division, function) != type_:
        return []
    plain = name if name in _RECIPROCALS or name in _NEGATED else name.removesuffix("f")
    suffix = "f" if type_ == FLOAT else ""
    texts = [" ".join(code.span(one).split()) for one in arguments]
    if plain in _RECIPROCALS:
        called = _RECIPROCALS[plain]
    elif (
        plain in _NEGATED and _POWERS.get(literal_value(code, arguments[-1]) or Fraction(1)) is None
    ):
        called, texts[-1] = plain, _negative(arguments[-1], texts[-1])
    else:
        return []
    text = f"{called}{suffix}({', '.join(texts)})"
    if sign.type == "/" and literal_value(code, left) == 1:
        return [replacing(division.start_byte, division.end_byte, text)]
    return [
        replacing(sign.start_byte, sign.end_byte, sign.type.replace("/", "*")),
        replacing(right.start_byte, right.end_byte, text),
    ]


def _negative(node: Node, text: str) -> str:
    """Return an expression with another sign."""
    if text.startswith("-") and node.type in ("unary_expression", "number_literal"):
        return text[1:].lstrip()
    return f"-{text}" if node.type in (*_TERMS, "number_literal") else f"-({text})"


def _written_out(code: Code, function: Function, call: Node) -> str:
    """Return the expression for a power of a number; "" for anything else."""
    name, arguments = math_call(code, call)
    if name not in ("pow", "powf") or len(arguments) != 2 or "#" in code.span(call):
        return ""
    base, exponent = arguments
    value = literal_value(code, exponent)
    type_ = number_type(code, base, function)
    form = "" if value is None else _POWERS.get(value, "")
    if not form or not is_pure(code, base, function):
        return ""
    if type_ not in ((FLOAT,) if name == "powf" else (FLOAT, DOUBLE)):
        return ""
    rooted = form.startswith(("sqrt", "rsqrt"))
    text = " ".join(code.span(unparenthesized(base) if rooted else base).split())
    suffix, one = ("f", "1.0f") if type_ == FLOAT else ("", "1.0")
    if base.type not in _TERMS and not rooted:
        text = f"({text})"
    found = form.format(x=text, f=suffix, one=one)
    above = call.parent
    alone = above is not None and (above.type in _LOOSE or operator(above) in _SUMS)
    return found if alone or rooted else f"({found})"
