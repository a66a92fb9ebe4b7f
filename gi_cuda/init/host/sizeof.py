"""What ``sizeof`` is of in host code, and how many items an array has that is declared there."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.syntax import parts


def operand(text: str) -> tuple[str, bool]:
    """What ``sizeof(float)`` or ``sizeof a`` is of, a type or a variable, and whether it is of what
    that points to, as ``sizeof(*a)`` and ``sizeof(a[0])`` are."""
    inner = text.partition("sizeof")[2].strip()
    while inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    pointed = re.fullmatch(r"\*\s*(\w+)|(\w+)\s*\[\s*\w+\s*\]", inner)
    return (pointed[1] or pointed[2], True) if pointed else (inner, False)


def is_array(declarator: Node) -> bool:
    """Whether a declarator is that of an array of values."""
    found = _dimensions(_without_value(declarator))
    return bool(found) and all(one.type == "array_declarator" for one in found)


def items(declarator: Node, read: Callable[[Node], str | None]) -> str | None:
    """How many items an array has, as an expression; None where that cannot be told.

    Args:
        read: gives what an expression of host code is to a target.
    """
    value = declarator.child_by_field_name("value")
    found = []
    for one in _dimensions(_without_value(declarator)):
        size = one.child_by_field_name("size")
        if size is not None:
            found.append(read(size))
        else:  # only the outermost may be left to what is in it
            listed = value is not None and value.type == "initializer_list"
            found.append(str(len(parts(value))) if listed else None)
    known = [f"({one})" if not one.isalnum() else one for one in found if one is not None]
    return " * ".join(known) if len(known) == len(found) else None


def _without_value(declarator: Node) -> Node:
    inner = declarator.child_by_field_name("declarator")
    return inner if declarator.type == "init_declarator" and inner is not None else declarator


def _dimensions(declarator: Node) -> list[Node]:
    """What puts a dimension on a name, or a pointer, the innermost first."""
    found = []
    inner: Node | None = declarator
    while inner is not None and inner.type not in ("identifier", "qualified_identifier"):
        found.append(inner)
        inner = inner.child_by_field_name("declarator")
    return found
