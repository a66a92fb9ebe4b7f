"""Variables that are computed from other variables, for example from the thread's number."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root, name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import GEOMETRY, Code, Function, descend


def derived(code: Code, function: Function, words: Collection[str]) -> frozenset[str]:
    """Return words, the functions that use launch geometry, and all variables of a function whose
    values mention such words.

    Example: for ``threadIdx`` and ``int i = threadIdx.x, j = i + 1;``, also ``i`` and ``j``.
    """
    found = {*words, *(one.name for one in code.functions if code.words(one.body) & GEOMETRY)}
    values = list(_values(code, function))
    while more := {name for name, used in values if used & found} - found:
        found |= more
    return frozenset(found)


def _values(code: Code, function: Function) -> Iterator[tuple[str, frozenset[str]]]:
    """Find the variables that get a value, and the identifiers of that value."""
    for node in descend(function.body):
        if node.type == "init_declarator":
            name = name_node(node.child_by_field_name("declarator"))
            value = node.child_by_field_name("value")
        elif node.type == "assignment_expression":
            name = assigned_root(node.child_by_field_name("left"))
            value = node.child_by_field_name("right")
        else:
            continue
        if name is not None and value is not None:
            yield code.span(name), code.words(value)
