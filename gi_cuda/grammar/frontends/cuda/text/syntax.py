"""Syntax trees of CUDA C++, by tree-sitter.

Tree-sitter counts bytes, and the rest of the grammar counts characters. So every character beyond
ASCII is replaced by one ASCII character before parsing, and both counts agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_cuda.language())
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
CONDITIONAL_TEXT = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
)
"""Types of nodes of conditional directives; their children count as children of their parent."""

CONTAINERS = CONDITIONAL_TEXT | {"declaration_list", "linkage_specification"}
"""Types of nodes of a file that contain declarations."""

_DECLARATOR_ENDS = frozenset({"identifier", "type_identifier", "field_identifier"})


def parse(text: str) -> Node:
    """Return the root of the syntax tree; node offsets are character offsets into ``text``."""
    plain = _BEYOND_ASCII.sub(lambda m: "x" if m[0].isalnum() else " ", text)
    return Parser(_LANGUAGE).parse(plain.encode("ascii")).root_node


def name_node(declarator: Node | None) -> Node | None:
    """Return the identifier that a declarator declares; None if it has none."""
    while declarator is not None and declarator.type not in _DECLARATOR_ENDS:
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in (
            "reference_declarator",
            "parenthesized_declarator",
            "attributed_declarator",
            "variadic_declarator",
        ):
            named = declarator.named_children
            inner = named[-1] if named else None
        declarator = inner
    return declarator


def parts(node: Node | None) -> list[Node]:
    """Return the named children of a node, without comments; an empty list for None."""
    return [] if node is None else [one for one in node.named_children if one.type != "comment"]


def structured_binding(declarator: Node) -> Node | None:
    """Return the ``[a, b]`` of ``auto [a, b]`` or ``auto &[a, b]``; None for other declarators."""
    if declarator.type == "reference_declarator" and declarator.named_children:
        declarator = declarator.named_children[-1]
    return declarator if declarator.type == "structured_binding_declarator" else None


def declarators(declaration: Node) -> Iterator[Node]:
    """Yield the declarators of a declaration, without their initialisers."""
    for declarator in declaration.children_by_field_name("declarator"):
        if declarator.type == "init_declarator":
            inner = declarator.child_by_field_name("declarator")
            if inner is not None:
                yield inner
        else:
            yield declarator


def is_bare(declaration: Node, name: Node) -> bool:
    """Tell whether a name is declared without a value, and is local to a thread and a call."""
    if declaration.type != "declaration" or any(
        child.type == "storage_class_specifier" or child.text == b"__shared__"
        for child in declaration.children
    ):
        return False
    above: Node | None = name
    while above is not None and above != declaration:
        if above.type == "init_declarator":
            return False
        above = above.parent
    return True


def assigned_root(target: Node | None) -> Node | None:
    """Return the variable at the root of an assignment's target: ``a`` of ``a.b[i]`` or ``*a``."""
    while target is not None and target.type != "identifier":
        if target.type == "parenthesized_expression":
            named = target.named_children
            target = named[0] if named else None
        else:
            target = target.child_by_field_name("argument")
    return target
