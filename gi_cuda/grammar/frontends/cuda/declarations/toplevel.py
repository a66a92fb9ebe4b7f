"""Declarations outside functions, and the rules in function heads."""

from __future__ import annotations

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition, function_declarator
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings, RuleDraft
from gi_cuda.grammar.frontends.cuda.text.syntax import CONTAINERS, name_node
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import FILE_LEVEL, Declaration

_RESTRICT_WORDS = frozenset({"__restrict__", "__restrict", "restrict"})
_PASSED = CONTAINERS | {"template_declaration", "enumerator_list", "ERROR"}
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})


def declare_file_level(root: Node, findings: Findings) -> None:
    """Add the functions, variables, types, constants and macros of the file to the findings."""
    size = len(findings.text)
    stack = [(root, size)]
    while stack:
        node, end = stack.pop()
        if node is not root:
            _declare(node, end, findings)
        if node.type == "namespace_definition":
            stack.extend((child, node.end_byte) for child in node.named_children)
        elif node is root or node.type in _PASSED or node.type == "enum_specifier":
            stack.extend((child, end) for child in node.named_children)
        elif node.type in ("declaration", "type_definition"):
            stack.extend((child, end) for child in node.children_by_field_name("type"))
    _declare_macros(findings, size)


def _declare(node: Node, end: int, findings: Findings) -> None:
    if node.type == "declaration":
        findings.declare_all(node, end, FILE_LEVEL)
    elif node.type == "function_definition":
        name = name_node(function_declarator(node))
        if name is not None:
            findings.declare_function(name, end)
    elif node.type in ("alias_declaration", "enumerator") or (
        node.type in _TYPES and node.child_by_field_name("body") is not None
    ):
        _declare_named(node.child_by_field_name("name"), end, findings)
    elif node.type == "type_definition":
        _declare_named(name_node(node.child_by_field_name("declarator")), end, findings)


def _declare_named(name: Node | None, end: int, findings: Findings) -> None:
    if name is not None:
        findings.declare_name(name, end, FILE_LEVEL)


def _declare_macros(findings: Findings, size: int) -> None:
    undone: dict[str, list[int]] = {}
    for directive in findings.presence.directives:
        if directive.word == "undef":
            undone.setdefault(directive.rest.strip(), []).append(directive.start)
    for macro in findings.presence.macros():
        start = macro.directive.end
        end = next((at for at in undone.get(macro.name, ()) if at > start), size)
        findings.declarations.append(
            Declaration(macro.name, "", start, end, FILE_LEVEL, macro.directive.region)
        )


def read_head(definition: Definition, function: int, findings: Findings) -> None:
    """Add a function's parameters and template parameters, and make the rules of its head."""
    node, end = definition.node, definition.node.end_byte
    head = function_declarator(node)
    if head is None:
        return
    # Declare the name anew in its own body, so that no donor that calls it goes there and recurs.
    findings.declare(definition.name, "", node.start_byte, end, function)
    if definition.outer.type == "template_declaration":
        _template_parameters(definition.outer, end, function, findings)
    parameters = head.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        if parameter.type == "ERROR" or parameter.type.startswith("preproc"):
            findings.declare_opaque(parameter.start_byte, parameter.end_byte, end, function)
        elif (spelled := findings.span(parameter)) in findings.macros.names:
            for word in findings.macros.names[spelled]:
                findings.declare(word, "", parameter.start_byte, end, function)
        else:
            findings.declare_all(parameter, end, function)
    _jump_targets(definition, head, function, findings)
    name = head.child_by_field_name("declarator")
    if parameters is not None and name is not None and not parameters.has_error:
        _restrict_rule(parameters, function, findings)
    if definition.kernel:
        _bounds_rule(definition, head, function, findings)


def _template_parameters(outer: Node, end: int, function: int, findings: Findings) -> None:
    parameters = outer.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        for name in parameter.named_children:
            inner = name if name.type == "type_identifier" else name_node(name)
            if inner is not None and inner.type != "field_identifier":
                findings.declare(findings.span(inner), "", outer.start_byte, end, function)


def _jump_targets(definition: Definition, head: Node, function: int, findings: Findings) -> None:
    node = definition.node
    returns = findings.text[node.start_byte : head.start_byte]
    words = sorted(set(returns.replace("*", " * ").split()))
    findings.declare(
        "return", "return " + " ".join(words), node.start_byte, node.end_byte, function
    )
    findings.declare("goto", "", node.start_byte, node.end_byte, function)


def _restrict_rule(parameters: Node, function: int, findings: Findings) -> None:
    """Make one rule for all pointer parameters without the keyword, or else for all with it."""
    missing, present = [], []
    for parameter in parameters.named_children:
        pointer = parameter.child_by_field_name("declarator")
        while pointer is not None and pointer.type == "pointer_declarator":
            inner = pointer.child_by_field_name("declarator")
            if inner is not None and inner.type == "identifier":
                break
            pointer = inner
        if pointer is None or pointer.type != "pointer_declarator":
            continue
        words = [c for c in pointer.children if findings.span(c) in _RESTRICT_WORDS]
        if words:
            present.append((words[0].start_byte, words[0].end_byte))
        else:
            star = next(c for c in pointer.children if c.type == "*")
            # A macro between the two may well be the keyword.
            name = pointer.child_by_field_name("declarator")
            between = "" if name is None else findings.text[star.end_byte : name.start_byte]
            if between.strip() in ("", "const"):
                missing.append((star.end_byte, star.end_byte))
    spelled = {findings.text[start:end] for start, end in present}
    sites = missing or (present if len(spelled) == 1 else [])
    if sites:
        start, end = sites[0]
        findings.rules.append(
            RuleDraft(RuleType.RESTRICT, start, end, function, sites=tuple(sites))
        )


def _bounds_rule(definition: Definition, head: Node, function: int, findings: Findings) -> None:
    node = definition.node
    for child in node.children:
        if child.type == "launch_bounds" and not child.has_error:
            findings.rules.append(
                RuleDraft(RuleType.BOUNDS, child.start_byte, child.end_byte, function)
            )
            return
    if "__launch_bounds__" in definition.words:
        return  # a macro sets the launch bounds, and there can be only one
    at = findings.text.find("__global__", node.start_byte, head.start_byte)
    if at >= 0:
        end = at + len("__global__")
        findings.rules.append(RuleDraft(RuleType.BOUNDS, end, end, function))
