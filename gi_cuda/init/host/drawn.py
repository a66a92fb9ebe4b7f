"""Find the range of the random numbers that host code fills a kernel's buffers with.

A pointer of a launch is traced back: through copies and through the functions that pass it on, to
all code that sets the data before the launch. If any of it is unknown (data from a file, say), no
range is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, walk
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.init.host.host import (
    HostCode,
    enclosing_function,
    function_name,
    parameters,
    passed,
    plain_name,
    without_casts,
)
from gi_cuda.init.host.value_ranges import Range, range_of

_DEPTH = 4
"""Largest depth of calls that is followed, up to callers and down to functions that set data."""

_READERS = """
    free delete printf fprintf puts assert accumulate size sizeof copy min max abs begin end data
    cbegin cend equal all_of
"""
_COPIES = ("cudaMemcpy", "cudaMemcpyAsync")
_HARMLESS = frozenset(_READERS.split())
"""Functions that do not change an array passed to them."""

_ACTS = frozenset(
    {"assignment_expression", "update_expression", "init_declarator", "call_expression"}
)


@dataclass(frozen=True, slots=True)
class _Array:
    """An array by its name in a function.

    Attributes:
        until: offset in the file behind which changes are ignored; None if the whole function runs
            before the launch.
    """

    code: CudaFile
    function: Node
    name: str
    until: int | None = None


def drawn(host: HostCode, launch: Node, given: Node) -> Range | None:
    """Return the range of the data behind a pointer of a launch; None if unknown.

    Args:
        given: the argument of the launch.
    """
    function, name = enclosing_function(launch), _array(host.code, given)
    if function is None or not name:
        return None
    here = _Array(host.code, function, name, launch.start_byte)
    for device in _callers(host, here):
        for source in [*_copied_to(device), device]:
            for array in _callers(host, source):
                found = list(_set(host, array))
                if found:
                    known = [one for one in found if one is not None]
                    return reduce(Range.joined, known) if len(known) == len(found) else None
    return None


def _array(code: CudaFile, node: Node) -> str:
    """Return the name of the array in ``a``, ``a.data()``, or ``&a[0]``; "" otherwise."""
    node = without_casts(node)
    if node.type == "identifier":
        return code.of(node)
    if node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        values = [] if given is None else given.named_children
        if called is not None and called.type == "field_expression" and not values:
            owner, member = (called.child_by_field_name(n) for n in ("argument", "field"))
            known = member is not None and code.of(member) in ("data", "begin", "get")
            return code.of(owner) if known and owner is not None else ""
    if node.type == "pointer_expression" and code.of(node).startswith("&"):
        return _item_of(code, node.child_by_field_name("argument"))
    return ""


def _item_of(code: CudaFile, node: Node | None) -> str:
    """Return the array of an item such as ``a[i][j]`` or ``*(a + i)``; "" for other expressions."""
    items = 0
    while node is not None:
        if node.type == "subscript_expression" or (
            node.type == "pointer_expression" and code.of(node).startswith("*")
        ):
            node, items = node.child_by_field_name("argument"), items + 1
        elif node.type == "parenthesized_expression" and node.named_children:
            node = node.named_children[0]
        elif node.type == "binary_expression":
            node = node.child_by_field_name("left")
        else:
            return code.of(node) if items and node.type == "identifier" else ""
    return ""


def _callers(host: HostCode, array: _Array, depth: int = 0) -> Iterator[_Array]:
    """Yield an array, and its names in the functions that pass it, callers of callers included."""
    yield array
    if depth == _DEPTH or array.code is not host.code:
        return
    for call in host.calls.get(function_name(array.code, array.function), ()):
        function = enclosing_function(call)
        given = passed(array.code, array.function, call).get(array.name)
        name = "" if given is None else _array(host.code, given)
        if name and function is not None and function != array.function:
            above = _Array(host.code, function, name, call.start_byte)
            yield from _callers(host, above, depth + 1)


def _copied_to(array: _Array) -> Iterator[_Array]:
    """Yield the arrays that are copied to an array."""
    for called, values in _calls(array):
        copies = called in _COPIES and len(values) >= 4
        if copies and _array(array.code, values[0]) == array.name:
            name = _array(array.code, values[1])
            if name:
                yield replace(array, name=name)


def _calls(array: _Array) -> Iterator[tuple[str, list[Node]]]:
    """Yield the calls in an array's function before `until`, with their arguments."""
    for node in _acts(array.function):
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is not None and given is not None and _counts(array, node):
            yield plain_name(array.code.of(called)), parts(given)


@lru_cache(maxsize=64)
def _acts(function: Node) -> tuple[Node, ...]:
    """Return all assignments, initializations and calls of a function in order; cached."""
    return tuple(node for node in walk(function) if node.type in _ACTS)


def _counts(array: _Array, node: Node) -> bool:
    return array.until is None or node.start_byte < array.until


def _set(host: HostCode, array: _Array, depth: int = 0) -> Iterator[Range | None]:
    """Yield the ranges that an array's items are set to in its function; None if unknown."""
    code = array.code
    for node in _acts(array.function):
        if not _counts(array, node):
            continue
        left, right = (node.child_by_field_name(one) for one in ("left", "right"))
        if node.type == "init_declarator":
            left = name_node(node.child_by_field_name("declarator"))
            right = node.child_by_field_name("value")
        elif node.type == "update_expression":
            left = node.child_by_field_name("argument")
        elif node.type != "assignment_expression":
            continue
        if left is None:
            continue
        if _item_of(code, left) == array.name:
            operator = node.child_by_field_name("operator")
            plain = right is not None and operator is not None and operator.type == "="
            yield range_of(host, code, right) if plain and right is not None else None
        elif right is not None and right.type == "initializer_list" and code.of(left) == array.name:
            yield None
    for name, values in _calls(array):
        places = [at for at, one in enumerate(values) if _array(code, one) == array.name]
        if places:
            yield from _set_by_call(host, code, name, values, places[0], depth)


def _set_by_call(
    host: HostCode, code: CudaFile, name: str, values: list[Node], at: int, depth: int
) -> Iterator[Range | None]:
    """Yield the ranges that a call sets the items of an argument to; None for an unknown one."""
    if name.startswith(("cuda", "hip")) or name in _HARMLESS or name in host.kernels:
        return
    if name == "memset" and at == 0 and code.of(values[1]).strip() == "0":
        yield Range(0, 0, True)
    else:
        own = host.defined(name)
        names = parameters(*own) if own else []
        if own is None or depth == _DEPTH or at >= len(names) or not names[at]:
            yield None
        else:
            yield from _set(host, _Array(*own, names[at]), depth + 1)
