"""Whole numbers that say how often and how much: in loop headers, array sizes, launch bounds and
indices.

An array's size stays 1, since it cannot be 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.findings import Findings, RuleDraft
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.steps import steps, whole

_COUNTING = {
    "for_statement": ("initializer", "condition", "update"),
    "while_statement": ("condition",),
    "do_statement": ("condition",),
    "subscript_expression": ("indices",),
    "array_declarator": ("size",),
}
"""By node, which parts of it are such places."""

_PASSED_OVER = frozenset(
    {
        "ERROR",
        "lambda_expression",
        "struct_specifier",
        "class_specifier",
        "union_specifier",
        "enum_specifier",
        "template_argument_list",
        "static_assert_declaration",
        "gnu_asm_expression",
    }
)


def read_numbers(definition: Node, function: int, findings: Findings) -> None:
    """Make rules of the numbers of a function that evolves."""
    bounds = [child for child in definition.children if child.type == "launch_bounds"]
    body = definition.child_by_field_name("body")
    stack = [(node, True) for node in bounds if _is_plain(node, findings)]
    if body is not None:
        stack.append((body, False))
    while stack:
        node, counts = stack.pop()
        if node.type == "number_literal":
            if counts and _may_change(node, findings):
                rule = RuleDraft(RuleType.NUMBER, node.start_byte, node.end_byte, function)
                findings.rules.append(rule)
        elif node.type not in _PASSED_OVER:
            stack.extend(_parts(node, counts, findings))


def _parts(node: Node, counts: bool, findings: Findings) -> Iterator[tuple[Node, bool]]:
    """The parts of a node that may hold numbers, and whether those are in such a place."""
    counting = [node.child_by_field_name(name) for name in _COUNTING.get(node.type, ())]
    fixed: list[Node | None] = []
    called = node.child_by_field_name("function")
    if called is not None and findings.span(called) in findings.macros.names:
        fixed.append(node.child_by_field_name("arguments"))
    if node.type == "init_declarator":  # the initialiser may fill the array
        fixed.append(node.child_by_field_name("declarator"))
    if node.type.endswith("_statement"):
        counts = False
    for child in node.named_children:
        if child not in fixed:
            yield child, counts or (child in counting and _is_plain(child, findings))


def _is_plain(node: Node, findings: Findings) -> bool:
    """Whether a node reads the same in every configuration and hides nothing."""
    return (
        not node.has_error
        and findings.presence.is_whole(node.start_byte, node.end_byte)
        and not findings.macros.opaque_in(findings.span(node))
    )


def _may_change(node: Node, findings: Findings) -> bool:
    text, around = findings.span(node), node.parent
    is_size = around is not None and around.type == "array_declarator"
    return bool(steps(text)) and not (is_size and whole(text) == 1)
