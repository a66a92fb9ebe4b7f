"""Rows of arrays: how long they are, how many there are, and how much of them is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.init.kernel.indexing import (
    AROUND,
    factors_of,
    holders_of,
    item_index,
    loaded,
    operator_of,
    set_by,
    squeezed,
)
from gi_cuda.init.kernel.places import in_rows


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


class CountedRows(NamedTuple):
    """Rows through which a kernel goes, each item of an array says how many: the neighbours of each
    atom, ``x[k * atoms + atom]``, or what a row of a sparse matrix has in columns (ELLPACK).

    Attributes:
        counts: the array.
        length: what stands for the length of a row.
        arrays: those that have such rows.
        bounds: what the place in a row is less than.
    """

    counts: str
    length: str
    arrays: frozenset[str]
    bounds: frozenset[str]


def counted_rows(code: CudaFile, function: Definition, name: str) -> CountedRows | None:
    """The rows of which the items of an array say how many there are; None where it says so of
    none.

    Args:
        name: of the pointer, as the function has it.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = [loaded(code, one) for one in walk(body) if item_index(code, one, name) is not None]
    counts = {*holders_of(code, body, items), *map(code.of, items)} if items else set[str]()
    rows = {row for loop in walk(body) for row in _counted(code, loop, counts)}
    lengths, arrays, bounds = set[str](), set[str](), set[str]()
    for total in walk(body) if rows else ():
        if total.type != "binary_expression" or operator_of(code, total) != "+":
            continue
        for product, place in (total.children[::2], total.children[::-2]):
            factors = factors_of(code, product)
            if rows.isdisjoint(factors):
                continue
            lengths.update(one for one in factors if one not in rows)
            arrays.update(one.array for one in in_rows(code, body, place) if one is not None)
            bounds.update(_bounds(code, body, code.of(place)))
    if len(lengths) != 1 or not arrays:
        return None
    return CountedRows(name, lengths.pop(), frozenset(arrays), frozenset(bounds))


def filled_rows(code: CudaFile, function: Definition, name: str) -> str | None:
    """How long the rows are of which the items of an array say how much of each is used, as the
    text has it: ``most`` of ``x[i * most + k]`` with ``k < used[i]``; None where there are none.

    Args:
        name: of the pointer, as the function has it.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = {loaded(code, one): i for one in walk(body) if (i := item_index(code, one, name))}
    counts = {*holders_of(code, body, items), *map(code.of, items)} if items else set[str]()
    found = ((loop, place) for loop in walk(body) for place in _counted(code, loop, counts))
    rows = (length for loop, place in found for length in _lengths(code, loop, place, items))
    return next(rows, None)


def _lengths(code: CudaFile, loop: Node, place: str, rows: Mapping[Node, str]) -> Iterator[str]:
    """How long rows are in which a loop goes from place to place.

    Args:
        rows: by the items that say how much of a row is used, which row that is.
    """
    for total in walk(loop):
        if total.type != "binary_expression" or operator_of(code, total) != "+":
            continue
        for product, added in (total.children[::2], total.children[::-2]):
            if code.of(added) != place or operator_of(code, product) != "*":
                continue
            for row, length in (product.children[::2], product.children[::-2]):
                known = squeezed(code.of(row)) in rows.values()
                if known and any(True for _ in in_rows(code, loop, added)):
                    yield code.of(length)


def _bounds(code: CudaFile, body: Node, place: str) -> Iterator[str]:
    """The names that a variable is compared with."""
    for node in walk(body):
        if node.type != "binary_expression" or operator_of(code, node) not in ("<", ">="):
            continue
        if code.of(node.children[0]) == place and node.children[-1].type == "identifier":
            yield code.of(node.children[-1])


def _counted(code: CudaFile, loop: Node, counts: Collection[str]) -> Iterator[str]:
    """The variable of a loop that goes from a number to some count."""
    begins, condition = (loop.child_by_field_name(one) for one in ("initializer", "condition"))
    if loop.type != "for_statement" or begins is None or condition is None:
        return
    if condition.type != "binary_expression" or operator_of(code, condition) not in ("<", "!="):
        return
    row, bound = code.of(condition.children[0]), code.of(condition.children[-1])
    first = next((right for left, right in map(set_by, walk(begins)) if left is not None), None)
    if bound in counts and first is not None and first.type == "number_literal":
        yield row
