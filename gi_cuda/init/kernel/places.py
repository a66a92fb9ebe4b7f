"""Which arrays have the items that numbers in another array are the places of: small numbers would
lead to a few of these alone."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.init.kernel.indexing import around, holders_of, item_index, operator_of


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> str | None:
    """The array whose items a kernel finds by the items of another one: ``x`` of ``x[at[i]]``;
    None where there is none.

    Args:
        name: of the pointer, as the function has it.
        arrays: the pointers of which it may be.
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
    """The array of which an expression is an index, all by itself; "" where it is none."""
    parent = place.parent
    if parent is None:
        return ""
    if parent.type == "binary_expression":
        plain = operator_of(code, parent) == "+" and parent.children[-1] == place
        return code.of(parent.children[0]) if plain else ""
    item = parent.parent if parent.type == "subscript_argument_list" else None
    array = None if item is None else item.child_by_field_name("argument")
    return code.of(array) if array is not None and len(parent.named_children) == 1 else ""
