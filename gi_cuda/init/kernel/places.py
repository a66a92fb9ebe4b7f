"""Recognize arrays of indices into other arrays.

Their random values must span the other array; small numbers would reach a few items alone.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition
from gi_cuda.init.kernel.indexing import around, holders_of, item_index, operator_of


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> str | None:
    """Return the array that a kernel indexes by items of another: ``x`` in ``x[at[i]]``; None if
    none.

    Args:
        name: the pointer ``at``, as the function names it.
        arrays: the pointers that may be indexed.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = [around(one) for one in walk(body) if item_index(code, one, name) is not None]
    holders = holders_of(code, body, items)
    named = [one for one in walk(body) if one.type == "identifier" and code.of(one) in holders]
    places = (*items, *map(around, named))
    return next((one for one in map(partial(_led, code), places) if one in arrays), None)


def _led(code: CudaFile, place: Node) -> str:
    """Return the array that an expression alone is the index of; "" if there is none."""
    parent = place.parent
    if parent is None:
        return ""
    if parent.type == "binary_expression":
        plain = operator_of(code, parent) == "+" and parent.children[-1] == place
        return code.of(parent.children[0]) if plain else ""
    item = parent.parent if parent.type == "subscript_argument_list" else None
    array = None if item is None else item.child_by_field_name("argument")
    return code.of(array) if array is not None and len(parent.named_children) == 1 else ""
