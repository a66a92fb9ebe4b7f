"""The head of a kernel: the text before its body, and the names that are declared there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function

_DIRECTIVE = re.compile(r"^[ \t]*#", re.M)
_UNREAD = re.compile(r"\.\.\.|__grid_constant__")
"""Lists without an end, and parameters that no other function can have."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
        integral: whether it is known to be an integer.
    """

    name: str
    integral: bool


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a kernel.

    Attributes:
        start: where it starts, with ``template <...>`` or ``extern "C"``.
        begin: where what follows ``template <...>`` starts.
        templates: names of the template's parameters.
        parameters: the parameters.
    """

    start: int
    begin: int
    templates: tuple[str, ...]
    parameters: tuple[Parameter, ...]


def read_head(code: Code, kernel: Function) -> Head | None:
    """Read the head of a kernel; None if not all of it is understood: a directive or a list without
    an end, a parameter without a name, a template of templates or for some types only."""
    outer, declarator, above = kernel.node, function_declarator(kernel.node), kernel.node.parent
    assert declarator is not None, "a function has one"
    name, listed = (declarator.child_by_field_name(one) for one in ("declarator", "parameters"))
    if name is None or name.type != "identifier" or listed is None or declarator.has_error:
        return None
    templates: list[str] = []
    if above is not None and above.type == "template_declaration":
        outer = above
        templates = [_template(code, one) for one in parts(above.child_by_field_name("parameters"))]
        if not templates or above.parent is None or above.parent.type == above.type:
            return None
    elif above is not None and above.type == "linkage_specification":
        outer = above
    start, end = outer.start_byte, kernel.body.start_byte
    head = code.bare(outer)[: end - start]
    if _DIRECTIVE.search(code.text, start, end) or _UNREAD.search(head):
        return None
    parameters = tuple(_parameter(code, one) for one in parts(listed))
    unnamed = "" in templates or any(not one.name for one in parameters)
    if unnamed or head[listed.end_byte - start :].strip():
        return None
    begin = kernel.node.start_byte if templates else start
    return Head(start, begin, tuple(templates), parameters)


def _template(code: Code, parameter: Node) -> str:
    """Return the name of a type or value that a template takes; "" of anything else."""
    if parameter.type in ("type_parameter_declaration", "optional_type_parameter_declaration"):
        name = next((one for one in parts(parameter) if one.type == "type_identifier"), None)
    else:
        name = name_node(parameter.child_by_field_name("declarator"))
    return "" if name is None else code.span(name)


def _parameter(code: Code, node: Node) -> Parameter:
    """Return a parameter; its name is "" where it has none."""
    declarator, kind = (node.child_by_field_name(one) for one in ("declarator", "type"))
    name = name_node(declarator)
    plain = kind is not None and name is not None and name == declarator
    known = code.spelled_type(code.span(kind)) if plain and kind is not None else None
    text = "" if name is None else code.span(name)
    return Parameter(text, known is not None and known.integral)
