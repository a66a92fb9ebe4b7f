"""Find items of arrays in a function: their indices, rows, and the variables that hold items."""

from __future__ import annotations

import re
from collections.abc import Collection

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node

_SPACE = re.compile(r"\s+")
AROUND = frozenset({"parenthesized_expression", "cast_expression"})
"""Kinds of nodes that wrap an expression without changing it."""


def holders_of(code: CudaFile, body: Node, items: Collection[Node]) -> frozenset[str]:
    """Return the variables that hold some of these items and nothing else."""
    holding, others = set[str](), set[str]()
    for node in walk(body):
        left, right = set_by(node)
        target = None if left is None else name_node(left)
        if target is not None:
            (holding if right in items else others).add(code.of(target))
        elif node.type == "update_expression":
            others.add(code.of(node).strip("+-"))
    return frozenset(holding - others)


def around(node: Node) -> Node:
    """Return the outermost node that is an expression with parentheses, casts or member access
    around.
    """
    while node.parent is not None and (
        node.parent.type in AROUND or node.parent.type == "field_expression"
    ):
        node = node.parent
    return node


def factors_of(code: CudaFile, product: Node) -> tuple[str, ...]:
    """Return the names that are factors of a product, the last one first."""
    if product.type != "binary_expression" or operator_of(code, product) != "*":
        return ()
    both = (product.children[-1], product.children[0])
    return tuple(code.of(one) for one in both if one.type in ("identifier", "field_expression"))


def item_index(code: CudaFile, node: Node, name: str) -> str | None:
    """Return the index, without spaces, of a node that is an item of an array, or None."""
    if node.type == "subscript_expression":
        argument, index = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if argument is not None and code.of(argument) == name and index is not None:
            return squeezed(code.of(index)[1:-1])
    return None


def set_by(node: Node) -> tuple[Node | None, Node | None]:
    """Return the target and the value of a declaration or assignment."""
    if node.type == "init_declarator":
        return node.child_by_field_name("declarator"), node.child_by_field_name("value")
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        plain = left is not None and left.type == "identifier"
        return (left if plain else None), node.child_by_field_name("right")
    return None, None


def operator_of(code: CudaFile, node: Node) -> str:
    """Return the operator of an expression; "" if it has none."""
    operator = node.child_by_field_name("operator")
    return "" if operator is None else code.of(operator)


def squeezed(text: str) -> str:
    """Return a text without white space."""
    return _SPACE.sub("", text)


def is_row_length(code: CudaFile, function: Definition, name: str, arrays: Collection[str]) -> bool:
    """Tell whether a number is the row length of arrays: ``x[row * width + column]``, ``x + row *
    width``.

    Args:
        name: the number, as the function names it.
        arrays: the pointers that may be the base of a sum.
    """
    body = function.node.child_by_field_name("body")
    return body is not None and any(
        operator_of(code, total) == "+"
        and any(name in factors_of(code, product) for product in total.children[::2])
        and (_is_index(total) or code.of(total.children[0]) in arrays)
        for total in walk(body)
        if total.type == "binary_expression"
    )


def _is_index(node: Node) -> bool:
    """Tell whether an expression is an index or a part of an index."""
    while node.parent is not None and node.parent.type in (*AROUND, "binary_expression"):
        node = node.parent
    return node.parent is not None and node.parent.type == "subscript_argument_list"
