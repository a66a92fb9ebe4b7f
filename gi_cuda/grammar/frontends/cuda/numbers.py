"""Whole numbers that say how often and how much: in loop headers, array sizes, launch bounds and
indices.
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

_LEAST_OF_SIZE = 2
"""What may become 1: device code has no arrays of size 0."""

_Visit = tuple[Node, int | None]
"""A node, and the least number that changes in it; None where none does."""

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
    stack: list[_Visit] = [(node, 0) for node in bounds if _is_plain(node, findings)]
    if body is not None:
        stack.append((body, None))
    while stack:
        node, least = stack.pop()
        if node.type == "number_literal":
            if least is not None and _is_from(least, findings.span(node)):
                rule = RuleDraft(RuleType.NUMBER, node.start_byte, node.end_byte, function)
                findings.rules.append(rule)
        elif node.type not in _PASSED_OVER:
            stack.extend(_parts(node, least, findings))


def _parts(node: Node, least: int | None, findings: Findings) -> Iterator[_Visit]:
    """The parts of a node that may hold numbers, each with the least number that changes there."""
    names = _COUNTING.get(node.type, ())
    counting = [node.child_by_field_name(name) for name in names]
    fixed: list[Node | None] = []
    called = node.child_by_field_name("function")
    if called is not None and findings.span(called) in findings.macros.names:
        fixed.append(node.child_by_field_name("arguments"))
    if node.type == "init_declarator":  # the initialiser may fill the array
        fixed.append(node.child_by_field_name("declarator"))
    if node.type.endswith("_statement"):
        least = None
    for child in node.named_children:
        if child in counting and _is_plain(child, findings):
            yield child, _LEAST_OF_SIZE if node.type == "array_declarator" else 0
        elif child not in fixed:
            yield child, least


def _is_plain(node: Node, findings: Findings) -> bool:
    """Whether a node reads the same in every configuration and hides nothing."""
    return (
        not node.has_error
        and findings.presence.is_whole(node.start_byte, node.end_byte)
        and not findings.macros.opaque_in(findings.span(node))
    )


def _is_from(least: int, text: str) -> bool:
    """Whether a literal is a whole number of at least so much that has steps."""
    number = whole(text)
    return number is not None and number >= least and bool(steps(text))
