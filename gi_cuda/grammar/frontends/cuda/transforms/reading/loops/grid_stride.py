"""Grid-stride loops: kernels that do the same work with any number of blocks."""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import declarators, name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    LOOPS,
    Code,
    Function,
    descend,
    geometry,
    holds,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import BINARY, Opaque, number
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import target_of, without_casts
from gi_cuda.grammar.scope import FILE_LEVEL

_Key = int | tuple[str, str]
"""A local variable, by where it is declared, or a variable of the geometry with its axis."""

_OF_GRID = frozenset({"blockIdx", "gridDim"})
_ALL_BLOCKS = re.compile(
    r"this_(?:multi_)?grid\b|\b(?:multi_)?grid_group\b|\bgroup_(?:index|dim)\b|%n?ctaid\b"
)
"""Code that waits for all blocks, or that gets the number of a block by another name."""

_STEPS = frozenset({"for_statement", "expression_statement", "comma_expression"})
"""Node types of the places where a loop makes its step. Conditions are no such place, since they
may leave out a step."""

_ARITHMETIC = frozenset({"+", "-", "*", "/"})


@lru_cache(maxsize=256)
def takes_any_grid(code: Code, kernel: Function, axis: str) -> bool:
    """Tell whether a kernel does the same work with any number of blocks along an axis.

    The numbers of its block and of all blocks decide nothing but where loops begin and how they
    step::

        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    """
    body = kernel.body
    if f"gridDim.{axis}" not in code.bare(body) or code.hidden(kernel):
        return False
    called = [one.body for one in code.called(kernel)]
    if _OF_GRID & code.macro_words(body).union(*map(code.words, called)):
        return False
    if any(_ALL_BLOCKS.search(code.span(one)) for one in (body, *called)):
        return False
    return _Loops(code, kernel, axis).take_any_grid()


class _Loops:
    """The loops of a kernel that step by a number of blocks, and all that depends on the numbers of
    blocks along an axis."""

    def __init__(self, code: Code, kernel: Function, axis: str) -> None:
        self._code, self._kernel = code, kernel
        self._block, self._grid = ("blockIdx", axis), ("gridDim", axis)
        nodes = list(descend(kernel.body))
        declared = {name_node(name) for one in nodes for name in declarators(one)}
        self._uses = [
            (one, key)
            for one in nodes
            if one not in declared and (key := self._key(one)) is not None
        ]
        self._at = [one.start_byte for one, _ in self._uses]
        self._targets = {target_of(one) for one in nodes}
        self._set: set[Node] = set()
        self._values: dict[_Key, list[Node]] = {}
        self._steps: dict[_Key, list[tuple[Node, Node]]] = {}
        for node in nodes:
            self._read(node)
        self._of_grid = self._dependent(self._grid, ())
        self._counters = {
            local
            for local, steps in self._steps.items()
            if any(self._of_grid & self._keys(step) for _, step in steps)
        }
        self._of_block = self._dependent(self._block, self._counters)

    def take_any_grid(self) -> bool:
        """Tell whether the numbers of blocks decide nothing but where loops begin and step."""
        steps = [step for one in self._counters for _, step in self._steps[one]]
        sizes, starts = self._set_to(self._of_grid), self._set_to(self._of_block | self._counters)
        return (
            bool(self._counters)
            and self._stay_in(self._of_grid, [*sizes, *steps])
            and self._stay_in(self._of_block, starts)
            and self._counters.isdisjoint(self._of_grid)
            and all(map(self._counts, self._counters))
        )

    def _key(self, node: Node) -> _Key | None:
        """Return what a node means: a local variable, or a variable of the geometry."""
        above, text = node.parent, self._code.span(node)
        if node.type != "identifier":
            return geometry(node, self._code.text)
        if text in _OF_GRID:  # a part of blockIdx.x, or all of it in f(blockIdx)
            part = above is not None and geometry(above, self._code.text)
            return None if part else (text, self._block[1])
        found = self._code.declaration(node, self._kernel)
        return None if found is None or found.function == FILE_LEVEL else found.start

    def _read(self, node: Node) -> None:
        """Note a value that a local variable is set to, or a step."""
        fields = ("declarator", "operator", "value", "left", "right")
        name, sign, value, left, right = (node.child_by_field_name(one) for one in fields)
        if node.type == "init_declarator" and name is not None and value is not None:
            self._values.setdefault(name.end_byte, []).append(value)
        if node.type != "assignment_expression" or left is None or right is None or sign is None:
            return
        key = self._key(left)
        if key is not None and sign.type == "=":
            self._set.add(left)
            self._values.setdefault(key, []).append(right)
        elif key is not None and sign.type == "+=":
            self._steps.setdefault(key, []).append((left, right))

    def _keys(self, node: Node) -> set[_Key]:
        """Return what an expression uses."""
        first, last = (bisect_left(self._at, one) for one in (node.start_byte, node.end_byte))
        return {key for _, key in self._uses[first:last]}

    def _dependent(self, root: _Key, apart: Collection[_Key]) -> set[_Key]:
        """Return a number and the local variables that are set to what depends on it.

        Args:
            root: the number, such as ``("blockIdx", "x")``.
            apart: variables that are left out.
        """
        found = {root}
        while more := {
            local
            for local, values in self._values.items()
            if not (local in found or local in apart)
            and any(found & self._keys(one) for one in values)
        }:
            found |= more
        return found

    def _set_to(self, keys: Collection[_Key]) -> list[Node]:
        """Return the values that variables are set to, without those that call a function."""
        values = [value for one in keys for value in self._values.get(one, ())]
        return [
            one for one in values if all(part.type != "call_expression" for part in descend(one))
        ]

    def _stay_in(self, keys: Collection[_Key], places: Collection[Node]) -> bool:
        """Tell whether values are used in some places alone."""
        return all(
            one in self._set or any(holds(place, one) for place in places)
            for one, key in self._uses
            if key in keys
        )

    def _counts(self, local: _Key) -> bool:
        """Tell whether a variable is used in its loops alone, with one step in each, and the blocks
        share these."""
        loops, bodies = [], []
        for name, step in self._steps[local]:
            begun = [one for one in self._values.get(local, ()) if one.end_byte < name.start_byte]
            loop = name.parent.parent if name.parent is not None else None
            if loop is None or loop.type not in _STEPS or not begun:
                return False
            while loop is not None and loop.type not in LOOPS:
                loop = loop.parent
            body = None if loop is None else loop.child_by_field_name("body")
            if loop is None or loop in loops or body is None or not self._share(begun[-1], step):
                return False
            loops.append(loop)
            bodies.append(body)
        steps = {name for name, _ in self._steps[local]}
        changed = [one for one, key in self._uses if key == local and one in self._targets - steps]
        return self._stay_in({local}, loops) and all(
            one in self._set and not any(holds(body, one) for body in bodies) for one in changed
        )

    def _share(self, start: Node, step: Node) -> bool:
        """Tell whether blocks begin as far apart as a grid of as many blocks steps: in block 4, 4
        steps of a grid of one later than in block 0. Any grid then has the same iterations."""
        try:
            first, last = self._value(start, 0), self._value(start, 4)
            return last - first == self._value(step, 4) != 0
        except (Opaque, ZeroDivisionError):
            return False

    def _value(self, node: Node, blocks: int) -> Fraction:
        """Return the value of an expression with a number of blocks, and a random one of all else.

        Raises:
            Opaque: the number of blocks is in what is no arithmetic.
        """
        node = without_casts(node)
        key = self._key(node)
        values = self._values.get(key, ()) if key is not None and key not in self._steps else ()
        if key in (self._block, self._grid):
            return Fraction(blocks)
        if len(values) == 1 and values[0].end_byte <= node.start_byte:
            return self._value(values[0], blocks)
        operator = node.child_by_field_name("operator")
        left, right = (node.child_by_field_name(one) for one in ("left", "right"))
        if operator is not None and operator.type in _ARITHMETIC and left is not None and right:
            operation = BINARY[operator.type]
            return Fraction(operation(self._value(left, blocks), self._value(right, blocks)))
        if not (self._of_grid | self._of_block).isdisjoint(self._keys(node)):
            raise Opaque
        text = self._code.span(node)
        found = number(text)
        return Fraction(random.Random(text).randint(1, 10**6) if found is None else found)
