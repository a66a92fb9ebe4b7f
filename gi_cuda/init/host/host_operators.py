"""Translate operators in host expressions to a target's, with brackets where they are needed."""

from __future__ import annotations

import re

from tree_sitter import Node

from gi_cuda.init.host.host_calls import Reader
from gi_cuda.init.kernel.sizes import bracketed

_OPERATORS = re.compile(r"[-+*/%&|^<>]|<<|>>|[<>=!]=|&&|\|\|")

_WHOLE = frozenset(
    {"identifier", "number_literal", "binary_expression", "parenthesized_expression"}
)
"""Kinds of expressions that can be operands without brackets."""


def value_of_operator(node: Node, read: Reader) -> str | None:
    """Return a binary expression as an expression of a target; None if it has no translation.

    Args:
        read: translates the operands.
    """
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return None
    if not _OPERATORS.fullmatch(operator.type):
        return None
    a, b = _operand(left, read), _operand(right, read)
    return None if a is None or b is None else f"{a} {operator.type} {b}"


def _operand(node: Node, read: Reader) -> str | None:
    text = read(node)
    return text if text is None or node.type in _WHOLE else bracketed(text)
