"""Which arrays have the items that numbers in another array are the places of: small numbers would
lead to a few of these alone."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.init.kernel.indexing import (
    around,
    holders_of,
    item_index,
    operator_of,
)


class Led(NamedTuple):
    """An array whose items a kernel finds by the items of another one.

    Attributes:
        array: its pointer.
        once: whether they are assigned to, so that of two threads with one place one would win.
    """

    array: str
    once: bool


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> Led | None:
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
    led = [one for one in map(partial(_led, code), places) if one and one.array in arrays]
    return next((one for one in led if one.once), next(iter(led), None))


def _led(code: CudaFile, place: Node) -> Led | None:
    """The array of which an expression is an index, all by itself."""
    parent = place.parent
    if parent is None:
        return None
    if parent.type == "binary_expression":
        plain = operator_of(code, parent) == "+" and parent.children[-1] == place
        return Led(code.of(parent.children[0]), False) if plain else None
    item = parent.parent if parent.type == "subscript_argument_list" else None
    array = None if item is None else item.child_by_field_name("argument")
    if item is None or array is None or len(parent.named_children) > 1:
        return None
    return Led(code.of(array), _is_set(item))


def _is_set(item: Node) -> bool:
    """Whether an item of an array is assigned to."""
    user = item.parent
    if user is None or user.type != "assignment_expression":
        return False
    return user.child_by_field_name("left") == item
