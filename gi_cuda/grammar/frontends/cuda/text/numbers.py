"""Rules of integer literals in loop headers, array sizes, launch bounds and indices."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.rules.findings import Findings, RuleDraft
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.steps import steps, whole

_COUNTING = {
    "for_statement": ("initializer", "condition", "update"),
    "while_statement": ("condition",),
    "do_statement": ("condition",),
    "subscript_expression": ("indices",),
    "array_declarator": ("size",),
}
"""Fields in which integer literals become rules, by node type."""

_LEAST_OF_SIZE = 2
"""Smallest array size that is a rule: half of it is 1, and device code has no arrays of size 0."""

_Visit = tuple[Node, int | None]
"""A node, and the least number that becomes a rule in it; None if numbers in it stay fixed."""

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
    """Make rules of the integer literals in a function that evolves."""
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
    """Yield the parts of a node that may contain numbers, each with the least number for a rule."""
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
    """Tell whether a node has no parse errors, no cutting directives and no opaque macros."""
    return (
        not node.has_error
        and findings.presence.is_whole(node.start_byte, node.end_byte)
        and not findings.macros.opaque_in(findings.span(node))
    )


def _is_from(least: int, text: str) -> bool:
    """Tell whether a literal is an integer of at least ``least`` that has steps."""
    number = whole(text)
    return number is not None and number >= least and bool(steps(text))
