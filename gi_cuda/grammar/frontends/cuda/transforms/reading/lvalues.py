"""Expressions that are assigned, incremented or passed."""

from __future__ import annotations

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts


def argument_of(node: Node) -> Node | None:
    """Return the argument of a call that a node is, with the parentheses and casts around it."""
    while node.parent is not None and node.parent.type in (
        "parenthesized_expression",
        "cast_expression",
    ):
        node = node.parent
    held = node.parent is not None and node.parent.type == "argument_list"
    return node if held else None


def unparenthesized(node: Node) -> Node:
    """Return a node without the parentheses around it."""
    while node.type == "parenthesized_expression" and len(parts(node)) == 1:
        node = parts(node)[0]
    return node


def without_casts(node: Node) -> Node:
    """Return a node without the parentheses and casts around it."""
    while True:
        if node.type == "parenthesized_expression" and len(parts(node)) == 1:
            node = parts(node)[0]
        elif node.type == "cast_expression" and (value := node.child_by_field_name("value")):
            node = value
        else:
            return node


def target_of(node: Node) -> Node | None:
    """Return the expression that an assignment or increment changes."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    return node.child_by_field_name("argument") if node.type == "update_expression" else None


def change_by(above: Node, whole: Node) -> tuple[bool, bool]:
    """Tell whether an expression is read, and whether it is written, by the node around it."""
    target = target_of(above)
    if target is None or unparenthesized(target).id != whole.id:
        return True, False
    operator = above.child_by_field_name("operator")
    plain = above.type == "assignment_expression" and operator is not None and operator.type == "="
    return not plain, True
