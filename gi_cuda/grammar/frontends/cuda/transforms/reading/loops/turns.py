"""Loops in which the threads of a block take turns, for any number of threads."""

from __future__ import annotations

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend, geometry
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import indices
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts

_OF_A_SIZE = frozenset({"BlockReduce", "BlockScan", "BlockLoad", "BlockStore", "BlockRadixSort"})
"""Templates of CUB that are told how many threads a block has."""


def takes_turns(code: Code, kernel: Function) -> bool:
    """Tell whether a kernel with blocks along x alone has a loop such as
    ``for (int i = threadIdx.x; i < n; i += blockDim.x)``, and no index over the whole grid."""
    if indices(code, kernel).found or code.words(kernel.body) & _OF_A_SIZE:
        return False
    used = {found for node in descend(kernel.body) if (found := geometry(node, code.text))}
    if any(name in ("threadIdx", "blockDim") and axis != "x" for name, axis in used):
        return False
    first, step = (_Named(code, kernel, name) for name in ("threadIdx", "blockDim"))
    loops = (node for node in descend(kernel.body) if node.type == "for_statement")
    return any(_begins(one, first) and _steps(code, one, step) for one in loops)


class _Named:
    """The expressions that equal a variable of the geometry along x: itself, and locals that are
    set to it.

    Args:
        name: ``threadIdx`` or ``blockDim``.
    """

    def __init__(self, code: Code, kernel: Function, name: str) -> None:
        self._code, self._name, self._locals = code, name, frozenset[str]()
        found = (node for node in descend(kernel.body) if node.type == "init_declarator")
        self._locals = frozenset(
            code.span(named)
            for node in found
            if self.is_meant(node.child_by_field_name("value"))
            and (named := name_node(node.child_by_field_name("declarator"))) is not None
        )

    def is_meant(self, node: Node | None) -> bool:
        """Tell whether an expression equals the variable of the geometry."""
        if node is None:
            return False
        node = without_casts(node)
        at_x = geometry(node, self._code.text) == (self._name, "x")
        return at_x or (node.type == "identifier" and self._code.span(node) in self._locals)


def _begins(loop: Node, first: _Named) -> bool:
    """Tell whether a loop starts at the number of the thread."""
    begin = loop.child_by_field_name("initializer")
    if begin is None:
        return False
    values = [one.child_by_field_name("value") for one in descend(begin)]
    values += [
        one.child_by_field_name("right")
        for one in descend(begin)
        if one.type == "assignment_expression"
    ]
    return any(map(first.is_meant, values))


def _steps(code: Code, loop: Node, step: _Named) -> bool:
    """Tell whether a loop's step is the number of threads."""
    update = loop.child_by_field_name("update")
    sign = None if update is None else update.child_by_field_name("operator")
    if update is None or sign is None or code.span(sign) != "+=":
        return False
    return step.is_meant(update.child_by_field_name("right"))
