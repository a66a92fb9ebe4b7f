"""Which arrays have the items that numbers in another array are the places of: small numbers would
lead to a few of these alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.constants import constant
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

_MOST_PARTS = 1024


class Own(NamedTuple):
    """Whose the numbers of an array are by their places, as Python has it: ``// most`` for
    ``at[i * most + k]``, ``% items`` for ``at[k * items + i]``, nothing for ``at[i]``.

    Attributes:
        lengths: what may be the length of a row, as the text has it.
    """

    by: str = ""
    lengths: tuple[str, ...] = ()


class Led(NamedTuple):
    """An array whose items a kernel finds by the items of another one.

    Attributes:
        array: its pointer.
        once: whether they are assigned to, so that of two threads with one place one would win.
        within: what may be the length of a row of it, if they are places in rows; else nothing.
        others: whose they are, where each item of that array finds other ones, which are never
            itself; else None.
        parts: how many numbers of that array are one item.
    """

    array: str
    once: bool
    within: tuple[str, ...] = ()
    others: Own | None = None
    parts: int = 1


class _Part(NamedTuple):
    """What is done to one of the numbers that are an item together: ``x[3 * item + 1]``."""

    array: str
    item: Node
    parts: int
    written: bool


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> Led | None:
    """The array whose items a kernel finds by the items of another one: ``x`` of ``x[at[i]]``, of
    ``x[3 * at[i] + 1]``, or of ``x[row * width + at[i]]``; None where there is none, or where what
    else is computed of them leads there.

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
    parts = [] if led else [*_parts(code, body, arrays)]
    by_parts = (one for one in parts if one.item in (*items, *named))
    led = led or [Led(one.array, one.written, parts=one.parts) for one in by_parts]
    if not led:
        return None
    first = next((one for one in led if one.once), led[0])
    if first.once or first.within:
        return first
    read = {item_index(code, one, first.array) for one in walk(body)} - {None}
    if first.parts > 1:
        alike = (one for one in parts if (one.array, one.parts) == (first.array, first.parts))
        read = {code.of(one.item) for one in alike}
    own = {one for one in read if one is not None and one.isidentifier()} - holders
    return first._replace(others=_others(code, body, name, own, holders))


def _parts(code: CudaFile, body: Node, arrays: Collection[str]) -> Iterator[_Part]:
    """Where some arrays are read or written of which several numbers are one item, as many as the
    source says."""
    for node in walk(body):
        if node.type == "subscript_expression":
            array, listed = (node.child_by_field_name(one) for one in ("argument", "indices"))
            index = None if listed is None else next(iter(listed.named_children), None)
        elif node.type == "binary_expression" and operator_of(code, node) == "+":
            array, index = node.children[0], node.children[-1]
        else:
            continue
        if array is None or index is None or code.of(array) not in arrays:
            continue
        for product in _summands(code, index):
            for item, parts in (product.children[::2], product.children[::-2]):
                number = constant(code, code.of(parts))
                if number is not None and 1 < number <= _MOST_PARTS:
                    yield _Part(code.of(array), item, number, _is_set(node))


def _summands(code: CudaFile, index: Node) -> Iterator[Node]:
    """The products that an index is, or is the sum of with something else."""
    index = _within_brackets(index)
    total = index.type == "binary_expression" and operator_of(code, index) == "+"
    for one in map(
        _within_brackets, (index.children[0], index.children[-1]) if total else (index,)
    ):
        if one.type == "binary_expression" and operator_of(code, one) == "*":
            yield one


def _within_brackets(node: Node) -> Node:
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node


def _others(
    code: CudaFile, body: Node, name: str, own: Collection[str], holders: Collection[str]
) -> Own | None:
    """Whose the numbers of an array are, by which an item of another one finds further ones of it,
    as an atom its neighbours: it is read itself as well, and nothing asks whether one is itself.

    Args:
        name: of the array of numbers.
        own: the indices by which items are read themselves.
        holders: what holds such numbers.
    """
    for node in walk(body):
        if node.type == "binary_expression" and operator_of(code, node) in ("==", "!="):
            sides = {code.of(node.children[0]), code.of(node.children[-1])}
            if sides & {*own} and sides & {*holders}:
                return None
    if any(item_index(code, one, name) in own for one in walk(body)):
        return Own()
    for total in walk(body):
        if total.type != "binary_expression" or operator_of(code, total) != "+":
            continue
        for product, place in (total.children[::2], total.children[::-2]):
            if all(one.array != name for one in in_rows(code, body, place)):
                continue
            if code.of(place) in own:
                return Own("%", factors_of(code, product))
            for row, length in (product.children[::2], product.children[::-2]):
                if code.of(row) in own:
                    number = constant(code, code.of(length))
                    return Own("//", (code.of(length) if number is None else str(number),))
    return None


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
