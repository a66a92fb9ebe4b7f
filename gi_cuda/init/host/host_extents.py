"""Read grids and blocks of host code: a number, or a ``dim3`` in any of its spellings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init.host.host import Locals
from gi_cuda.init.kernel.sizes import bare

LISTS = ("argument_list", "initializer_list", "parameter_list")
DEPTH = 12
"""Largest depth of expressions and names that is followed; it also ends circular definitions."""

_TYPES = ("dim3", "uint3", "auto")


class Names(Protocol):
    """Interface to look up names and expressions at a place of host code."""

    @property
    def code(self) -> CudaFile:
        """Return the file that has the place."""

    @property
    def locals(self) -> Locals:
        """Return the variables that are declared and set before the place."""

    def scalar(self, name: str) -> str | None:
        """Return the kernel's scalar that a variable is passed for, or None."""

    def value(self, name: str) -> Node | None:
        """Return the value that a variable or a member is set to; None if unknown."""

    def passed(self, name: str) -> tuple[Names, Node] | None:
        """Return the argument of the caller for a parameter that is never set, and the caller's
        names.
        """

    def expression(self, node: Node, depth: int = 0) -> str | None:
        """Return a node as an integer expression over scalars and parameters; None if it is not
        one.
        """

    def extent(self, node: Node, depth: int = 0) -> tuple[str, ...] | None:
        """Return the one to three expressions of a grid or a block (a ``dim3`` or a number), or
        None.
        """


def extent_of(names: Names, node: Node, depth: int) -> tuple[str, ...] | None:
    """Return the expressions of a grid or a block that is not just a variable; None if unknown."""
    if node.type in ("call_expression", "compound_literal_expression"):
        called = node.child_by_field_name("function") or node.child_by_field_name("type")
        given = node.child_by_field_name("arguments") or node.child_by_field_name("value")
        if called is not None and given is not None and names.code.of(called) in _TYPES:
            return names.extent(given, depth + 1)
    if node.type in LISTS:
        return extents_of(names, node.named_children, depth)
    text = names.expression(node, depth)
    return None if text is None else (bare(text),)


def extents_of(names: Names, nodes: Sequence[Node], depth: int = 0) -> tuple[str, ...] | None:
    """Return the expressions of a grid or a block from the nodes of its one to three numbers."""
    found = [names.expression(child, depth) for child in nodes if child.type != "comment"]
    known = tuple(bare(part) for part in found if part is not None)
    return known if len(known) == len(found) and 1 <= len(found) <= 3 else None


def named_extent(names: Names, node: Node, depth: int) -> tuple[str, ...] | None:
    """Return the expressions of a grid or a block that is a variable; None if unknown."""
    own = names.code.of(node).strip()
    if (scalar := names.scalar(own)) is not None:
        return (scalar,)
    if _is_set_by_parts(names, own):
        return _by_parts(names, own, depth)
    value = names.value(own)
    if value is not None and names.locals.declared.get(own) in _TYPES:
        return names.extent(value, depth + 1)
    passed = names.passed(own)
    if passed is not None:
        return passed[0].extent(passed[1], depth + 1)
    text = names.expression(node, depth)
    return None if text is None else (bare(text),)


def _is_set_by_parts(names: Names, name: str) -> bool:
    """Tell whether a variable is a ``dim3`` with members that are assigned one by one."""
    values = names.locals.values
    parts = any(values.get(f"{name}.{part}") for part in "xyz")
    return parts and names.locals.declared.get(name) in _TYPES


def _by_parts(names: Names, name: str, depth: int) -> tuple[str, ...] | None:
    """Return a ``dim3`` whose members are assigned one by one; None if one of them is unknown."""
    first = names.value(name)
    known = (None if first is None else names.extent(first, depth + 1)) or ()
    whole = (*known, "1", "1", "1")[:3]
    parts: list[str | None] = []
    for part, otherwise in zip("xyz", whole, strict=True):
        value = names.value(f"{name}.{part}")
        is_set = bool(names.locals.values.get(f"{name}.{part}"))
        read = None if value is None else names.expression(value, depth + 1)
        parts.append(read if is_set else otherwise)
    if any(part is None for part in parts):
        return None
    found = [bare(part) for part in parts if part is not None]
    while len(found) > 1 and found[-1] == "1":
        found.pop()
    return tuple(found)
