"""Which arrays have the items that numbers in another array are the places of: small numbers would
lead to a few of these alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.init.kernel.indexing import (
    around,
    factors_of,
    holders_of,
    item_index,
    loaded,
    operator_of,
)


class Led(NamedTuple):
    """An array whose items a kernel finds by the items of another one.

    Attributes:
        array: its pointer.
        once: whether they are assigned to, so that of two threads with one place one would win.
        within: what may be the length of a row of it, if they are places in rows; else nothing.
    """

    array: str
    once: bool
    within: tuple[str, ...] = ()


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> Led | None:
    """The array whose items a kernel finds by the items of another one: ``x`` of ``x[at[i]]``
    or of ``x[row * width + at[i]]``; None where there is none.

    Args:
        name: of the pointer, as the function has it.
        arrays: the pointers of which it may be.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = [loaded(code, one) for one in walk(body) if item_index(code, one, name) is not None]
    holders = holders_of(code, body, items)
    named = [one for one in walk(body) if one.type == "identifier" and code.of(one) in holders]
    places = (*items, *map(around, named))
    found = [led for place in places for led in (*in_rows(code, body, place), _led(code, place))]
    led = [one for one in found if one is not None and one.array in arrays]
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


def in_rows(code: CudaFile, body: Node, place: Node) -> Iterator[Led]:
    """The arrays in rows of which an expression is a place: ``x[row * width + place]``, or by a
    variable that holds the index."""
    total = place.parent
    if total is None or operator_of(code, total) != "+":
        return
    factors = factors_of(code, total.children[0 if total.children[-1] == place else -1])
    index = around(total)
    holders = holders_of(code, body, [index]) if factors else frozenset[str]()
    for item in walk(body) if factors else ():
        array, given = item.child_by_field_name("argument"), item.child_by_field_name("indices")
        if item.type != "subscript_expression" or array is None or given is None:
            continue
        if given.named_children == [index] or code.of(given)[1:-1] in holders:
            yield Led(code.of(array), _is_set(item), factors)
