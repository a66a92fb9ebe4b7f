"""Addresses that are the same for all threads of a block."""

from __future__ import annotations

from collections import Counter

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.text.syntax import declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import GEOMETRY, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes
from gi_cuda.grammar.scope import FILE_LEVEL

_READS = frozenset(
    {
        *("call_expression", "assignment_expression", "update_expression", "lambda_expression"),
        *("subscript_expression", "pointer_expression", "->"),
    }
)
"""Nodes by which an expression changes something, or may read memory."""


def is_shared_address(code: Code, function: Function, node: Node) -> bool:
    """Tell whether an address is the same for all threads of a block: ``&sum``, ``&sums.x``,
    ``p + blockIdx.x``, ``&p[2]``, ``&p->x``."""
    same, shared = _names(code, function)
    node = without_casts(node)
    if node.type != "pointer_expression":
        return _is_same(code, function, node, same | shared)
    node = node.named_children[-1]
    through = False
    while node.type == "field_expression" and not through:
        through = any(one.type == "->" for one in node.children)
        node = node.named_children[0]
    if node.type == "subscript_expression":
        array, *indices = parts(node)
        inner = [one for index in indices for one in parts(index)]
        if not all(_is_same(code, function, one, same) for one in inner):
            return False
        through, node = True, array
    if node.type != "identifier":
        return False
    names = same | shared if through else shared
    return code.span(node) in names or _is_global(code, function, node)


def _names(code: Code, function: Function) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that have one value for all threads of a block, and the shared variables.

    One value have the geometry of the launch, parameters of a kernel that stay as they are, and
    variables that get one value made of those.
    """
    changed = changes(code, function.body)
    head = function_declarator(function.node)
    listed = parts(head.child_by_field_name("parameters")) if head is not None else []
    local = [one for one in descend(function.body) if one.type == "declaration"]
    declared = [
        (code.span(found), declaration, declarator)
        for declaration in (*listed, *local)
        for declarator in declarators(declaration)
        if (found := name_node(declarator)) is not None
    ]
    count = Counter(name for name, _, _ in declared)
    same, shared = {*GEOMETRY} - {"threadIdx"}, set[str]()
    for name, declaration, declarator in declared:
        if count[name] > 1 or name in code.macros:
            continue
        if "__shared__" in code.words(declaration):
            shared.add(name)
            continue
        pointer = "*" in code.span(declarator)
        if name in changed.whole or (name in changed.inner and not pointer):
            continue
        above = declarator.parent
        value = None if above is None else above.child_by_field_name("value")
        known = frozenset(same | shared)
        if (declaration.type != "declaration" and function.kernel) or (
            value is not None and _is_same(code, function, value, known)
        ):
            same.add(name)
    return frozenset(same), frozenset(shared)


def is_of_variables(node: Node) -> bool:
    """Tell whether an expression is made of variables alone: it changes nothing, calls nothing and
    reads no memory behind a pointer."""
    return all(one.type not in _READS for one in descend(node))


def _is_same(code: Code, function: Function, node: Node, names: frozenset[str]) -> bool:
    """Tell whether an expression has one value for all threads, if some names have."""
    return is_of_variables(node) and all(
        code.span(one) in names
        or (code.span(one) in code.macros and code.macro_words(one) <= code.macros.keys())
        or (_is_global(code, function, one) and bool(_levels(code, function, one)))
        for one in descend(node)
        if one.type == "identifier"
    )


def _levels(code: Code, function: Function, name: Node) -> tuple[str, ...]:
    type_ = code.declared_type(name, function)
    return () if type_ is None or type_.levels[:1] == ("*",) else type_.levels


def _is_global(code: Code, function: Function, name: Node) -> bool:
    """Tell whether a name is a variable of the file."""
    declared = code.declaration(name, function)
    return (
        declared is not None
        and declared.function == FILE_LEVEL
        and code.span(name) not in code.macros
        and code.declared_type(name, function) is not None
    )
