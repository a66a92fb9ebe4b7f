"""Serial loops: their counters, and the dependences between their iterations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, descend, geometry
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import ATOMIC, called_name
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts, Use
from gi_cuda.grammar.frontends.cuda.transforms.reading.liveness import (
    FirstUse,
    first_use,
    is_live_after,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.reductions import (
    Accumulator,
    accumulators,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts
from gi_cuda.grammar.values import RANKS, Type

_INTEGER = re.compile(r"(\d+)[uUlL]*")
_FOLDS = frozenset({"/", "%", ">>", "&"})
"""Operators that may map different iterations to the same index."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that counts up: ``for (int j = start; j < n; j += step)``.

    Attributes:
        node: the loop.
        local: where its variable is declared.
        name: the variable.
        declared: whether the loop declares the variable.
        type: the variable's type; an integer or a pointer.
        start: its first value.
        step: what is added; None for 1.
        condition: the condition.
        update: the whole increment.
        body: the statement that is repeated.
    """

    node: Node
    local: int
    name: str
    declared: bool
    type: Type
    start: Node
    step: Node | None
    condition: Node
    update: Node
    body: Node


@dataclass(frozen=True, slots=True)
class Iterations:
    """A loop whose iterations may be done in any order.

    Attributes:
        loop: the loop.
        accumulators: the variables that all iterations add to.
        written: the roots of the memory that it writes.
    """

    loop: Loop
    accumulators: tuple[Accumulator, ...]
    written: frozenset[str]


def read_loop(facts: Facts, node: Node) -> Loop | None:
    """Read a ``for`` statement that counts up to a limit.

    Returns:
        None for any other statement, and for a loop that is left early or changes its own limit.
    """
    fields = [
        node.child_by_field_name(one) for one in ("initializer", "condition", "update", "body")
    ]
    if node.type != "for_statement" or any(one is None for one in fields):
        return None
    first, condition, update, body = (one for one in fields if one is not None)
    name, step = _counted(facts, update)
    start = _started(facts, first, name)
    use = None if name is None else facts.at(name)
    if name is None or use is None or use.own is None or start is None or _leaves(body):
        return None
    type_ = facts.code.type(name, facts.function)
    if type_ is None and "auto" in facts.code.words(first):
        type_ = facts.code.type(start, facts.function)
    if type_ is None or not (type_.pointer or type_.rank in range(RANKS["int"], RANKS["float"])):
        return None
    declared = first.type == "declaration"
    if not _is_bounded(facts, condition, use.own):
        return None
    text = facts.code.span(name)
    loop = Loop(node, use.own, text, declared, type_, start, step, condition, update, body)
    return loop if _is_steady(facts, loop) else None


def _counted(facts: Facts, update: Node) -> tuple[Node | None, Node | None]:
    """Return the variable that ``j++`` or ``j += step`` counts up, and the step."""
    operator = update.child_by_field_name("operator")
    sign = "" if operator is None else facts.code.span(operator)
    if update.type == "update_expression" and sign == "++":
        return _identifier(update.child_by_field_name("argument")), None
    if update.type != "assignment_expression":
        return None, None
    left, right = update.child_by_field_name("left"), update.child_by_field_name("right")
    name = _identifier(left)
    if name is None or right is None:
        return None, None
    if (
        sign == "="
        and right.type == "binary_expression"
        and facts.code.span(right.children[1]) == "+"
    ):
        one, other = right.children[0], right.children[2]
        if facts.code.span(one) == facts.code.span(name):
            sign, right = "+=", other
        elif facts.code.span(other) == facts.code.span(name):
            sign, right = "+=", one
    if sign != "+=" or facts.code.span(right).startswith("-"):
        return None, None
    return name, None if facts.code.span(right) == "1" else right


def _identifier(node: Node | None) -> Node | None:
    return node if node is not None and node.type == "identifier" else None


def _started(facts: Facts, first: Node, name: Node | None) -> Node | None:
    """Return the first value of a loop's variable."""
    if name is None:
        return None
    wanted = facts.code.span(name)
    if first.type == "assignment_expression":
        left, right = first.child_by_field_name("left"), first.child_by_field_name("right")
        operator = first.child_by_field_name("operator")
        plain = operator is not None and operator.type == "="
        return right if left is not None and plain and facts.code.span(left) == wanted else None
    found = first.children_by_field_name("declarator") if first.type == "declaration" else []
    if len(found) != 1 or found[0].type != "init_declarator":
        return None
    inner, value = (found[0].child_by_field_name(one) for one in ("declarator", "value"))
    while inner is not None and inner.type == "pointer_declarator":
        inner = inner.child_by_field_name("declarator")
    same = inner is not None and facts.code.span(inner) == wanted
    return value if same and value is not None and value.type != "initializer_list" else None


def _leaves(node: Node, *, within: bool = False) -> bool:
    """Tell whether the body of a loop leaves the loop.

    Args:
        node: the body, or a part of it.
        within: whether the part stands in an inner loop or ``switch``.
    """
    if node.type == "return_statement" or (node.type == "break_statement" and not within):
        return True
    within = within or node.type in LOOPS or node.type == "switch_statement"
    return any(_leaves(one, within=within) for one in node.named_children)


def _is_bounded(facts: Facts, condition: Node, local: int) -> bool:
    """Tell whether a condition keeps the variable below limits: ``j < n && j + k <= m``."""
    condition = without_casts(condition)
    operator = condition.child_by_field_name("operator")
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if condition.type != "binary_expression" or operator is None or left is None or right is None:
        return False
    if operator.type == "&&":
        return _is_bounded(facts, left, local) and _is_bounded(facts, right, local)
    if operator.type in (">", ">="):
        left, right = right, left
    elif operator.type not in ("<", "<="):
        return False
    return _grows(facts, left, local) and not _mentions(facts, right, local)


def _grows(facts: Facts, node: Node, local: int) -> bool:
    """Tell whether an expression is the variable, or the variable plus a number."""
    node = without_casts(node)
    if node.type == "identifier":
        use = facts.at(node)
        return use is not None and use.own == local
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "binary_expression" or operator is None or left is None or right is None:
        return False
    if operator.type == "+" and not _mentions(facts, left, local):
        left, right = right, left
    return (
        operator.type in ("+", "-")
        and _grows(facts, left, local)
        and not _mentions(facts, right, local)
    )


def _mentions(facts: Facts, node: Node, local: int) -> bool:
    return any(one.local == local for one in facts.within(node))


def _is_steady(facts: Facts, loop: Loop) -> bool:
    """Tell whether the loop's limit and step stay as they are, and its body leaves its variable."""
    inside = facts.within(loop.body)
    written = {one.own for one in inside if one.writes and one.own is not None}
    roots = frozenset[str]().union(*(one.roots for one in inside if one.writes))
    header = [
        one
        for node in (loop.start, loop.condition, loop.step)
        if node is not None
        for one in facts.within(node)
    ]
    if loop.local in written or any(one.writes for one in header):
        return False
    if any(one.local in written or one.roots & roots for one in header):
        return False
    given = [loop.start] if loop.step is None else [loop.start, loop.step]
    return not any(_mentions(facts, one, loop.local) for one in given)


def is_grid_stride(facts: Facts, node: Node) -> bool:
    """Tell whether a statement is a grid-stride loop, which goes from row to row of a thread:
    ``for (...; i < n; i += blockDim.x * gridDim.x)``."""
    loop = read_loop(facts, node)
    return loop is not None and loop.step is not None and _of_grid(facts, loop.step, frozenset())


def _of_grid(facts: Facts, node: Node, seen: frozenset[int]) -> bool:
    """Tell whether an expression is computed from the number of blocks."""
    for one in descend(node):
        if (geometry(one, facts.code.text) or ("", ""))[0] == "gridDim":
            return True
    names = {one.local for one in facts.within(node) if one.local is not None} - seen
    return any(
        _of_grid(facts, value, seen | names)
        for name in names
        for value in facts.values(name, facts.function.body)
    )


def trip_count(facts: Facts, loop: Loop) -> int | None:
    """Return the number of iterations of a loop with literal limits; None of another loop."""
    operator = without_casts(loop.condition).child_by_field_name("operator")
    limit = without_casts(loop.condition).child_by_field_name("right")
    if operator is None or limit is None or operator.type not in ("<", "<="):
        return None
    texts = [
        facts.code.span(one) if one is not None else "1" for one in (loop.start, limit, loop.step)
    ]
    found = [_INTEGER.fullmatch(one) for one in texts]
    if any(one is None for one in found):
        return None
    first, last, step = (int(one[1]) for one in found if one is not None)
    return max(0, -(-(last + (operator.type == "<=") - first) // max(1, step)))


def independent_iterations(facts: Facts, loop: Loop) -> Iterations | None:
    """Analyse whether the iterations of a loop may be done in any order.

    Returns:
        None where an iteration needs what another one left, as far as the text tells.
    """
    if not loop.declared and is_live_after(facts, loop.node, loop.local):
        return None
    inside = facts.within(loop.body)
    own = {one.own for one in inside if one.writes and one.own is not None}
    found: list[Accumulator] = []
    for local in sorted(own):
        if loop.node.start_byte <= local < loop.node.end_byte or _is_private(facts, loop, local):
            continue
        sums = accumulators(facts, loop.node, local)
        if sums is None:
            return None
        found += sums
    written = frozenset[str]().union(*(one.roots for one in inside if one.writes))
    if not _Elements(facts, loop).are_independent():
        return None
    return Iterations(loop, tuple(found), written)


def _is_private(facts: Facts, loop: Loop, local: int) -> bool:
    """Tell whether each iteration sets a variable before it reads it, and no later code does."""
    return first_use(facts, loop.body, local) is not FirstUse.READS and not is_live_after(
        facts, loop.node, local
    )


class _Elements:
    """Accesses of memory in a loop."""

    def __init__(self, facts: Facts, loop: Loop) -> None:
        self.facts = facts
        self.loop = loop
        self.inside = [one for one in facts.within(loop.body) if one.roots]
        self.changed = {one.own for one in facts.within(loop.node) if one.writes}
        self.derived, self.loaded = self._derived()

    def are_independent(self) -> bool:
        """Tell whether no iteration accesses what another one writes, judging by the indices."""
        writes = [one for one in self.inside if one.writes and not is_atomic(self.facts, one)]
        texts = {self._text(one) for one in writes}
        for one in writes:
            if not self._varies(one.whole):
                return False
            others = [each for each in self.inside if each.roots & one.roots and each.reads]
            if self._is_folded(one.whole, one.node) and any(
                self._varies(each.whole) for each in others
            ):
                return False
            if any(not self._stays(each) and self._text(each) not in texts for each in others):
                return False
        return True

    def _stays(self, use: Use) -> bool:
        """Tell whether an element is the same in each iteration."""
        above = use.whole.parent
        passed = above is not None and above.type == "argument_list"
        known = self.facts.code.type(use.whole, self.facts.function)
        if passed and not is_atomic(self.facts, use) and known is not None and known.pointer:
            return False  # a function may access any element
        index = [one for one in self.facts.within(use.whole) if one.local is not None]
        span = range(self.loop.node.start_byte, self.loop.node.end_byte)
        return not any(one.local in span or one.local in self.changed for one in index)

    def _text(self, use: Use) -> str:
        return "".join(self.facts.code.span(use.whole).split())

    def _varies(self, node: Node) -> bool:
        """Tell whether an expression differs from iteration to iteration."""
        return any(one.local in self.derived for one in self.facts.within(node))

    def _is_folded(self, node: Node, root: Node | None = None) -> bool:
        """Tell whether two iterations may have the same index: ``c[j]``, ``j / 2``.

        Args:
            root: the variable that ``node`` is an element of; None where ``node`` is an index.
        """
        for one in descend(node):
            if one.type == "identifier" and (use := self.facts.at(one)) is not None:
                if use.local in self.loaded:
                    return True
                if use.roots and one != root and self._varies(use.whole):
                    return True
            operator = one.child_by_field_name("operator")
            if operator is not None and operator.type in _FOLDS and self._varies(one):
                return True
        return False

    def _derived(self) -> tuple[set[int], set[int]]:
        """Find the variables that are computed from the loop's variable.

        Returns:
            All of them, and those that may have one value in several iterations.
        """
        derived, loaded = {self.loop.local}, set[int]()
        while True:
            before = (len(derived), len(loaded))
            self.derived, self.loaded = derived, loaded
            for local, value in self._assigned():
                if self._varies(value) or _has_atomic(self.facts, value):
                    derived.add(local)
                    if self._is_folded(value) and not _has_atomic(self.facts, value):
                        loaded.add(local)
            if before == (len(derived), len(loaded)):
                return derived, loaded

    def _assigned(self) -> Iterator[tuple[int, Node]]:
        """Find the local variables that the loop assigns, with their values."""
        for node in descend(self.loop.body):
            if node.type == "init_declarator":
                inner, value = (node.child_by_field_name(one) for one in ("declarator", "value"))
                if inner is not None and value is not None:
                    yield inner.end_byte, value
            elif node.type == "assignment_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                use = None if left is None else self.facts.at(left)
                if use is not None and use.own is not None and right is not None:
                    yield use.own, right


def is_atomic(facts: Facts, use: Use) -> bool:
    """Tell whether a use is by an atomic operation."""
    if use.by is None or use.by.type != "call_expression":
        return False
    return ATOMIC.fullmatch(called_name(facts.code, use.by) or "") is not None


def _has_atomic(facts: Facts, node: Node) -> bool:
    return any(
        one.type == "call_expression"
        and ATOMIC.fullmatch(called_name(facts.code, one) or "") is not None
        for one in descend(node)
    )
