"""Recognize arrays of offsets, as in CSR: row i spans items ``offsets[i]`` to ``offsets[i + 1]``.

Offsets must not decrease. With random numbers instead, rows would end before they begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, signature, walk
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node
from gi_cuda.init.kernel.indexing import AROUND, item_index, operator_of, set_by

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_DEEPEST = 4


def are_offsets(code: CudaFile, function: Definition, name: str, depth: int = 0) -> bool:
    """Tell whether a kernel takes neighbours in an array for begin and end of a row or list.

    Two adjacent items count if a loop runs from one to the other, or if their difference is a
    length
    and the first one is part of an index of another array.

    Args:
        name: the pointer, as the function names it.
        depth: number of calls that were followed to the function.
    """
    body = function.node.child_by_field_name("body")
    if body is None or depth > _DEEPEST:
        return False
    if any(_Pair(code, low, high, name).bounds(body) for low, high in _pairs(code, body, name)):
        return True
    return any(
        are_offsets(code, called, own, depth + 1) for called, own in _given(code, body, name)
    )


def _pairs(code: CudaFile, body: Node, name: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of indices of adjacent items, without white space."""
    indices = {index for node in walk(body) if (index := item_index(code, node, name)) is not None}
    for index in indices:
        for behind in (f"{index}+1", f"({index})+1", f"1+{index}"):
            if behind in indices:
                yield index, behind


def _given(code: CudaFile, body: Node, name: str) -> Iterator[tuple[Definition, str]]:
    """Yield the functions that a pointer is passed to unchanged, and their parameter for it."""
    for node in walk(body):
        if node.type != "call_expression":
            continue
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        plain = "" if called is None else code.of(called).partition("<")[0].rpartition("::")[2]
        if given is None or (definition := code.function(plain)) is None:
            continue
        own = list(signature(code, definition))
        for at, argument in enumerate(given.named_children[: len(own)]):
            if code.of(argument) == name and own[at].name:
                yield definition, own[at].name


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two adjacent items of an array, by their indices."""

    code: CudaFile
    low: str
    high: str
    name: str

    def bounds(self, body: Node) -> bool:
        """Tell whether the items are begin and end of something."""
        low, high = self._carriers(body, self.low), self._carriers(body, self.high)
        return any(
            self._goes(node, low, high) or self._leads(node, body, low, high)
            for node in walk(body)
            if node.type in _LOOPS or node.type == "binary_expression"
        )

    def _carriers(self, body: Node, index: str) -> frozenset[str]:
        """Return the variables that hold an item, or a value computed from it."""
        found: frozenset[str] = frozenset()
        for node in walk(body):
            left, right = set_by(node)
            target = None if left is None else name_node(left)
            if target is not None and right is not None and self._says(right, index, found):
                found |= {self.code.of(target)}
        return found

    def _says(self, node: Node | None, index: str, carriers: frozenset[str]) -> bool:
        """Tell whether an expression contains an item, or a variable that holds it."""
        return node is not None and any(
            item_index(self.code, one, self.name) == index
            or (one.type == "identifier" and self.code.of(one) in carriers)
            for one in walk(node)
        )

    def _goes(self, loop: Node, low: frozenset[str], high: frozenset[str]) -> bool:
        """Tell whether a loop runs from one item to the other."""
        condition = loop.child_by_field_name("condition")
        if loop.type not in _LOOPS or not self._says(condition, self.high, high):
            return False
        begins = loop.child_by_field_name("initializer")
        return self._says(begins, self.low, low) or self._says(condition, self.low, low)

    def _leads(self, node: Node, body: Node, low: frozenset[str], high: frozenset[str]) -> bool:
        """Tell whether an expression is the difference of the items and the first one indexes an
        array.
        """
        if node.type != "binary_expression" or operator_of(self.code, node) != "-":
            return False
        left, _, right = node.children
        if not (self._is(left, self.high, high) and self._is(right, self.low, low)):
            return False
        return any(
            self._says(one.child_by_field_name("indices"), self.low, low)
            for one in walk(body)
            if one.type == "subscript_expression" and item_index(self.code, one, self.name) is None
        )

    def _is(self, node: Node, index: str, carriers: frozenset[str]) -> bool:
        """Tell whether an expression is an item, or a variable that holds it."""
        while node.type in AROUND:
            node = node.child_by_field_name("value") or node.named_children[0]
        return item_index(self.code, node, self.name) == index or self.code.of(node) in carriers
