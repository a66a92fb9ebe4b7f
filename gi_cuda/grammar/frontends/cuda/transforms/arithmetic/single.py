"""Computations in double precision whose result is of single precision."""

from __future__ import annotations

import re

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import OfFunctions
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import (
    DOUBLE,
    FLOAT,
    MATH,
    OF_HEADER,
    literal_value,
    math_call,
    number_type,
    operator,
)
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, replacing

_LITERAL = re.compile(r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_OPERATORS = frozenset({"+", "-", "*", "/"})
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_COMBINED = frozenset({"parenthesized_expression", "unary_expression", "conditional_expression"})


class Single(OfFunctions):
    """``<single_kernel.cu_8><single_K>`` computes in single precision what a function computes in
    double precision of literals and numbers of single precision, and then keeps in a ``float``.

    Before and after: ``a[i] = 0.5 * b[i] + sin(2.0 * b[i])`` becomes ``a[i] = 0.5f * b[i] +
    sinf(2.0f * b[i])``. The answers differ in the last bits; the oracle's tolerance decides.
    """

    type = RuleType.SINGLE

    def splices(self, code: Code, function: Function) -> list[Splice]:
        """Make all such computations of a function single."""
        return [
            change
            for node in descend(function.body)
            if _is_kept_in_float(code, node, function)
            for change in _in_single(code, node, function) or ()
        ]


def _is_kept_in_float(code: Code, node: Node, function: Function) -> bool:
    """Tell whether an expression is all that a ``float`` is assigned or compared to."""
    above = node.parent
    if above is None or not node.is_named:
        return False
    if above.type == "return_statement":
        kept = _says_float(code, function.node)
    elif above.type == "init_declarator":
        named = above.child_by_field_name("declarator")
        plain = named is not None and named.type == "identifier" and named != node
        kept = plain and _says_float(code, above.parent)
    else:
        sides = {"left", "right"} if operator(above) in _COMPARISONS else {"left"}
        ends = (above.child_by_field_name(side) for side in sides)
        beside = [one for one in ends if one != node]
        sided = above.type == "assignment_expression" or len(sides) == 2
        kept = sided and [number_type(code, one, function) for one in beside] == [FLOAT]
    return kept and number_type(code, node, function) == DOUBLE


def _says_float(code: Code, declared: Node | None) -> bool:
    """Tell whether a declaration or a function's definition begins with ``float``."""
    said = None if declared is None else declared.child_by_field_name("type")
    return said is not None and code.span(said) == "float"


def _in_single(code: Code, node: Node, function: Function) -> list[Splice] | None:
    """Return the changes that make a double expression single.

    Return None if a part of the expression has to be double, or is not understood.
    """
    if number_type(code, node, function) != DOUBLE:
        return []
    text = code.span(node)
    if node.type == "number_literal":
        single = _LITERAL.fullmatch(text)
        return [replacing(node.start_byte, node.end_byte, f"{text}f")] if single else None
    if node.type == "identifier":
        constant = OF_HEADER.fullmatch(text) or literal_value(code, node) is not None
        return [replacing(node.start_byte, node.end_byte, f"(float){text}")] if constant else None
    name, operands = math_call(code, node)
    if name in MATH:
        called = node.child_by_field_name("function")
        assert called is not None, "it is a call"
        own = [replacing(called.start_byte, called.end_byte, f"{name}f")]
    elif operator(node) in _OPERATORS or node.type in _COMBINED:
        own, operands = [], node.named_children
    else:
        return None
    condition = node.child_by_field_name("condition")
    for one in operands:
        inner = [] if one == condition else _in_single(code, one, function)
        if inner is None:
            return None
        own += inner
    return own
