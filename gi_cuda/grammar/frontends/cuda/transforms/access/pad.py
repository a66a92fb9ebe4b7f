"""Padding of arrays in shared memory, against bank conflicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.constants import evaluated
from gi_cuda.grammar.frontends.cuda.text.syntax import declarators
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import accesses
from gi_cuda.grammar.frontends.cuda.transforms.reading.shared_size import extents, known_numbers
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, opening

_BANKS = 16
"""Rows that are a multiple of so many elements begin in few of the 32 banks."""

_TERMS = frozenset({"identifier", "number_literal", "parenthesized_expression", "call_expression"})
_BINDING = frozenset({"+", "-", "*", "/", "%"})
"""Operators that bind at least as strongly as the sum that padding makes."""


@dataclass(frozen=True, slots=True)
class _Array:
    """An array in shared memory with two or more dimensions.

    Attributes:
        name: its name in the declaration.
        extents: the sizes of its dimensions, outermost first.
    """

    name: Node
    extents: tuple[Node, ...]


class Pad(Family):
    """``<pad_kernel.cu_12><pad_K>`` makes each row of a shared array longer by one element.

    Before and after: ``__shared__ float tile[32][32];`` becomes
    ``__shared__ float tile[32][32 + 1];``. The elements of a column then lie in different banks.

    An array is padded if its rows are a multiple of 16 elements, and all uses are full subscripts
    such as ``tile[i][j]``. An index beyond the end of its row means another element afterwards;
    the answers on all cases tell such kernels.
    """

    type = RuleType.PAD

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the names of the arrays, where they are declared."""
        for function in code.functions:
            for array in _arrays(code, function):
                at = array.name.start_byte
                yield Site(at, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Add 1 to the innermost extent."""
        for function in code.functions:
            if function.body.start_byte <= at < function.body.end_byte:
                for array in _arrays(code, function):
                    if array.name.start_byte == at:
                        return Rewrite(tuple(_padded(array.extents[-1])))
        return None


def _arrays(code: Code, function: Function) -> Iterator[_Array]:
    """Find the arrays of a function that can be padded."""
    if "__shared__" not in code.bare(function.body):
        return
    known = known_numbers(code)
    for node in descend(function.body):
        words = {code.span(one) for one in node.children}
        if node.type != "declaration" or "__shared__" not in words or "extern" in words:
            continue
        for declarator in declarators(node):
            array = _array(declarator)
            if array is None or not _is_subscripted(code, function, node, array):
                continue
            length = evaluated(code.bare(array.extents[-1]), known)
            if length and length % _BANKS == 0:
                yield array


def _array(declarator: Node) -> _Array | None:
    """Read the declarator of an array with two or more dimensions, each with an extent."""
    name, sizes = extents(declarator)
    if name is None or name.type != "identifier" or len(sizes) < 2 or None in sizes:
        return None
    return _Array(name, tuple(one for one in sizes if one is not None))


def _is_subscripted(code: Code, function: Function, declaration: Node, array: _Array) -> bool:
    """Tell whether all uses of an array are elements: no row, no address, no ``sizeof``."""
    name, count, after = code.span(array.name), 1, declaration.next_sibling
    while after is not None:
        found = accesses(code, after, name)
        if found is None or any(_depth(one.element) != len(array.extents) for one in found):
            return False
        count += len(found)
        after = after.next_sibling
    return count == len(re.findall(rf"\b{name}\b", code.bare(function.body)))


def _depth(element: Node) -> int:
    """Return the number of subscripts of an element: 2 of ``tile[i][j]``."""
    inner = element.child_by_field_name("argument")
    subscript = element.type == "subscript_expression" and inner is not None
    return 1 + _depth(inner) if subscript and inner is not None else 0


def _padded(extent: Node) -> Iterator[Splice]:
    """Write ``extent + 1``."""
    start, end = extent.start_byte, extent.end_byte
    operator = extent.child_by_field_name("operator")
    if extent.type in _TERMS or (operator is not None and operator.type in _BINDING):
        yield closing(start, end, " + 1")
    else:
        yield opening(start, end, "(")
        yield closing(start, end, ") + 1")
