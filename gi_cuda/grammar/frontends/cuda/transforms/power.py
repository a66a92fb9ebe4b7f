"""Powers with a literal exponent: products and square roots."""

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
"""Operators that bind less than those of a product."""


class Power(OfFunctions):
    """``<power_kernel.cu_8><power_K>`` writes out the powers with a literal exponent in a function.

    Before and after: ``a * powf(x, 3.0f)`` becomes ``a * (x * x * x)``, and ``pow(d, 0.5)``
    becomes ``sqrt(d)``. The answers differ in the last bits; the oracle's tolerance decides.
    """

    type = RuleType.POWER

    def splices(self, code: Code, function: Function) -> list[Splice]:
        """Replace the calls of ``pow`` and ``powf``; those in the base of another one stay."""
        found: list[Splice] = []
        for node in descend(function.body):
            text = _written_out(code, function, node)
            if text and not (found and node.start_byte < found[-1].end):
                found.append(replacing(node.start_byte, node.end_byte, text))
        return found


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
