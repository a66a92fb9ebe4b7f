"""Arithmetic of floating-point numbers: types of expressions, constants, mathematical functions."""

from __future__ import annotations

import re
from fractions import Fraction

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import number
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name, is_cast
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.values import Type

FLOAT = Type("float")
DOUBLE = Type("double")

MATH = frozenset(
    {
        *("sqrt", "rsqrt", "cbrt", "rcbrt", "hypot", "pow", "exp", "exp2", "exp10", "expm1"),
        *("log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "fabs", "fmin"),
        *("fmax", "fmod", "fma", "floor", "ceil", "round", "rint", "trunc", "copysign"),
    }
)
"""The functions of CUDA that compute a number of numbers; with ``f`` behind, a ``float``."""

_ARITHMETIC = frozenset({"+", "-", "*", "/"})
OF_HEADER = re.compile(r"M_(?:[12]_)?[A-Z]\w*")
"""The constants of ``math.h``."""
_AROUND = frozenset({"parenthesized_expression", "unary_expression"})
_IMPURE = frozenset({"update_expression", "assignment_expression", "lambda_expression"})
_GROUPED = re.compile(r"-?[\w.]+(?:[eE][-+]\d+[fF]?)?|\([^()]*\)")


def operator(node: Node) -> str:
    """Return the operator of an expression or assignment with two sides; "" of another node."""
    found = node.child_by_field_name("operator")
    both = node.type in ("binary_expression", "assignment_expression")
    return found.type if found is not None and both else ""


def number_type(code: Code, node: Node | None, function: Function) -> Type | None:
    """Return the type of an expression that may call mathematical functions; None if unknown.

    Example: ``2 * exp(x)`` is a ``float`` if ``x`` is one, else a ``double``.
    """
    known = code.type(node, function)
    if known is not None or node is None:
        return known
    if node.type == "identifier" and OF_HEADER.fullmatch(code.span(node)):
        return DOUBLE
    name, operands = math_call(code, node)
    if name and name not in MATH:
        return FLOAT
    if not name and operator(node) not in _ARITHMETIC and node.type not in _AROUND:
        return None
    found = [number_type(code, one, function) for one in operands or parts(node)]
    types = [one for one in found if one is not None and one.arithmetic]
    if not types or len(types) < len(found):
        return None
    if name and any(one.integral for one in types):
        return DOUBLE
    return max(types, key=lambda one: one.rank)


def math_call(code: Code, node: Node) -> tuple[str, list[Node]]:
    """Return the mathematical function that an expression calls, and the arguments: of
    ``std::fmax(x, 0)``, ``fmax`` and its two; of another expression, "" and none."""
    name = called_name(code, node) if node.type == "call_expression" else None
    if name is None or not {name, name.removesuffix("f")} & MATH:
        return "", []
    if name in code.macros or any(one.name == name for one in code.functions):
        return "", []
    return name, parts(node.child_by_field_name("arguments"))


def literal_value(code: Code, node: Node) -> Fraction | None:
    """Return the value of a literal, or of a macro for one; None of another expression."""
    text = code.span(unparenthesized(node))
    sign, text = (-1, text[1:].lstrip()) if text.startswith("-") else (1, text)
    bodies = {one.body.strip().strip("()") for one in code.macros.get(text, ())}
    found = number(bodies.pop() if len(bodies) == 1 else text)
    return None if found is None else sign * Fraction(found)


def is_pure(code: Code, node: Node, function: Function) -> bool:
    """Tell whether an expression can be computed early, or twice.

    It changes nothing, calls mathematical functions only, divides no integer by one that may be 0,
    and holds no comment and no macro that needs parentheses.
    """
    if re.search(r"//|/\*", code.span(node)):
        return False
    for one in descend(node):
        if one.type in _IMPURE:
            return False
        if one.type == "call_expression":
            called = one.child_by_field_name("function")
            cast = is_cast(code, one) or (called is not None and called.type == "primitive_type")
            if not cast and not math_call(code, one)[0]:
                return False
        elif one.type == "identifier":
            bodies = [macro.body.strip() for macro in code.macros.get(code.span(one), ())]
            if not all(map(_GROUPED.fullmatch, bodies)):
                return False
        elif operator(one) in ("/", "%") and not literal_value(code, parts(one)[-1]):
            type_ = number_type(code, one, function)
            if type_ is None or type_.integral:
                return False
    return True
