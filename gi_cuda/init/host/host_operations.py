"""Translate calls and operators of host code to a target's: divisions, minima, casts, sums."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.init.host.host import HostCode, plain_name
from gi_cuda.init.kernel.sizes import bracketed, divided_up

_DIVIDED_UP = re.compile(r"(?i)i?div_?(round_?)?up|ceil_?div|div_?ceil|cdiv|.*_?divup|updiv")
_WHOLE_REAL = re.compile(r"(\d+)\.0*[fF]?")
_NUMBER = re.compile(r"u?int(?:\d+_t)?|unsigned(?:\s+\w+)*|u?long|size_t|float|double")

_OPERATORS = re.compile(r"[-+*/%&|^<>]|<<|>>|[<>=!]=|&&|\|\|")

_WHOLE = frozenset(
    {"identifier", "number_literal", "binary_expression", "parenthesized_expression"}
)
"""Kinds of expressions that can be operands without brackets."""

Reader = Callable[[Node], str | None]
"""Function that translates an expression of the host code to a target's; None if impossible."""


def value_of_call(host: HostCode, node: Node, read: Reader) -> str | None:
    """Return a call as an expression of a target; None if it has no translation.

    Args:
        read: translates the call's arguments.
    """
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return None
    name = plain_name(host.code.of(called))
    nodes = parts(given)
    if name in ("ceil", "ceilf") and len(nodes) == 1:
        return _ceiling(host.code, nodes[0], read)
    if len(nodes) == 1 and (name == "static_cast" or _NUMBER.fullmatch(name)):
        return read(nodes[0])
    values = [text for one in nodes if (text := read(one)) is not None]
    if len(values) < len(nodes):
        return None
    if len(values) == 2:
        a, b = map(bracketed, values)
        if name in ("min", "max"):
            return f"({a} {'<' if name == 'min' else '>'} {b} ? {a} : {b})"
        if _DIVIDED_UP.fullmatch(name):
            return divided_up(a, b)
    return None


def _ceiling(code: CudaFile, node: Node, read: Reader) -> str | None:
    """Translate ``ceil(n / (float)b)`` to a division of integers."""
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    operator = node.child_by_field_name("operator")
    if node.type != "binary_expression" or operator is None or operator.type != "/":
        return read(node)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return None
    a = read(left)
    whole = _WHOLE_REAL.fullmatch(code.of(right))
    b = whole[1] if whole else read(right)
    return None if a is None or b is None else divided_up(a, b)


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
