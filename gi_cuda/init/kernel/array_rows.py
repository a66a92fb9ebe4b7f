"""Rows of arrays: which numbers say how long they are."""

from __future__ import annotations

from collections.abc import Collection

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.init.kernel.indexing import AROUND, factors_of, operator_of


def is_row_length(code: CudaFile, function: Definition, name: str, arrays: Collection[str]) -> bool:
    """Whether a kernel goes from row to row by a number: ``x[row * width + column]``, or
    ``x + row * width``.

    Args:
        name: of the number, as the function has it.
        arrays: the pointers of which it may be.
    """
    body = function.node.child_by_field_name("body")
    return body is not None and any(
        operator_of(code, total) == "+"
        and any(
            name in factors_of(code, product) and not _is_constant(product, place)
            for product, place in (total.children[::2], total.children[::-2])
        )
        and (_is_index(total) or code.of(total.children[0]) in arrays)
        for total in walk(body)
        if total.type == "binary_expression"
    )


def _is_constant(product: Node, place: Node) -> bool:
    """Whether both the row and the place in it are numbers: an entry of a table, ``x[2 * n + 1]``,
    that is not the longer the larger ``n`` is."""
    row = any(one.type == "number_literal" for one in product.children)
    return row and place.type == "number_literal"


def _is_index(node: Node) -> bool:
    """Whether an expression is a summand of an index, or that."""
    while node.parent is not None and node.parent.type in (*AROUND, "binary_expression"):
        node = node.parent
    return node.parent is not None and node.parent.type == "subscript_argument_list"
