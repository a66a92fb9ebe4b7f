"""Comparisons of an index with a limit: ``i < n``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, descend

_WORD = re.compile(r"[^\W\d]\w*")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison of an index with a limit: ``i < n``.

    Attributes:
        operator: the comparison, with the index on its left side.
        limit: the limit, as written.
        mirrored: whether the index is written on the right side: ``n > i``.
    """

    operator: str
    limit: str
    mirrored: bool

    def of(self, item: str) -> str:
        """Return the same comparison of another item."""
        if self.mirrored:
            return f"{self.limit} {_MIRRORED[self.operator]} {item}"
        return f"{item} {self.operator} {self.limit}"

    @property
    def negated(self) -> Bound:
        """The negated comparison."""
        return replace(self, operator=_NEGATED[self.operator])

    @property
    def from_above(self) -> bool:
        """Tell whether it holds for the items up to the limit."""
        return self.operator in ("<", "<=")

    @property
    def words(self) -> frozenset[str]:
        """The identifiers in the limit."""
        return frozenset(_WORD.findall(self.limit))


def joined(node: Node, by: str) -> Iterator[Node]:
    """Return the conditions that an operator joins."""
    inner = parts(node)[0] if node.type == "parenthesized_expression" else node
    operator = inner.child_by_field_name("operator")
    if inner.type == "binary_expression" and operator is not None and operator.type == by:
        for side in ("left", "right"):
            if (child := inner.child_by_field_name(side)) is not None:
                yield from joined(child, by)
    else:
        yield node


def read_bound(code: Code, node: Node, name: str) -> Bound | None:
    """Read a condition as a comparison of an index with a limit that has no side effects."""
    while node.type == "parenthesized_expression" and len(parts(node)) == 1:
        node = parts(node)[0]
    operator, left, right = (node.child_by_field_name(one) for one in ("operator", "left", "right"))
    if node.type != "binary_expression" or operator is None or operator.type not in _NEGATED:
        return None
    if left is None or right is None or (code.span(left) == name) == (code.span(right) == name):
        return None
    mirrored = code.span(right) == name
    limit = left if mirrored else right
    effects = {"call_expression", "assignment_expression", "update_expression"}
    if name in code.words(limit) or any(one.type in effects for one in descend(limit)):
        return None
    told = _MIRRORED[operator.type] if mirrored else operator.type
    return Bound(told, code.span(limit), mirrored)
