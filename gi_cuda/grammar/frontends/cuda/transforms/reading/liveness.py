"""Liveness of local variables: which values may be read later."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, descend
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts

_JUMPS = frozenset({"break_statement", "continue_statement"})
_BLOCKS = frozenset({"compound_statement", "case_statement"})


class FirstUse(Enum):
    """Kinds of first use of a variable in a piece of code."""

    READS = "it may read the value that was there"
    WRITES = "it assigns a value for certain, before it reads one"
    NEITHER = "it reads no value from outside, and may leave that as it is"


def first_use(facts: Facts, node: Node | None, local: int) -> FirstUse:
    """Return the kind of the first use of a local variable in a piece of code.

    Example: ``x = y; z = x;`` writes ``x`` and reads ``y``; ``if (c) { x = 1; z = x; }`` does
    neither to ``x``.
    """
    if node is None or not any(one.local == local for one in facts.within(node)):
        return FirstUse.NEITHER
    if node.type == "identifier":
        return FirstUse.READS
    if node.type == "assignment_expression":
        return _of_assignment(facts, node, local)
    if node.type in ("if_statement", "conditional_expression"):
        return _of_branches(facts, node, local)
    if node.type in LOOPS:
        return _of_loop(facts, node, local)
    if node.type == "switch_statement":
        return _weak(_of_all(facts, node.children, local))
    if node.type == "binary_expression" and _is_shortcut(node):
        left, right = (
            first_use(facts, node.child_by_field_name(side), local) for side in ("left", "right")
        )
        return _weak(right) if left is FirstUse.NEITHER else left
    return _of_all(facts, node.children, local)


def is_live_after(facts: Facts, node: Node, local: int) -> bool:
    """Tell whether the value that a statement leaves in a local variable may be read later."""
    at, jumped = node, False
    while at.id != facts.function.body.id:
        above = at.parent
        assert above is not None, "the statement is in the body"
        if above.type in LOOPS:
            jumped = False
            again = (above.child_by_field_name(part) for part in ("update", "condition", "body"))
            if any(first_use(facts, one, local) is FirstUse.READS for one in again):
                return True
        elif above.type in _BLOCKS:
            for one in above.children[[each.id for each in above.children].index(at.id) + 1 :]:
                found = first_use(facts, one, local)
                if found is FirstUse.READS:
                    return True
                if found is FirstUse.WRITES and not jumped and above.type == "compound_statement":
                    return False
                jumped = jumped or _jumps(one)
        at = above
    return False


def _weak(found: FirstUse) -> FirstUse:
    """Return the kind for code that is executed on some paths only."""
    return FirstUse.NEITHER if found is FirstUse.WRITES else found


def _of_all(facts: Facts, nodes: Iterable[Node | None], local: int) -> FirstUse:
    """Return the kind for pieces that are executed one after another."""
    for one in nodes:
        found = first_use(facts, one, local)
        if found is not FirstUse.NEITHER:
            return found
    return FirstUse.NEITHER


def _of_assignment(facts: Facts, node: Node, local: int) -> FirstUse:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    found = first_use(facts, right, local)
    if found is not FirstUse.NEITHER or left is None:
        return found
    use = facts.at(left) if left.type == "identifier" else None
    if use is not None and use.own == local:
        return FirstUse.READS if use.reads else FirstUse.WRITES
    return first_use(facts, left, local)


def _of_branches(facts: Facts, node: Node, local: int) -> FirstUse:
    found = first_use(facts, node.child_by_field_name("condition"), local)
    if found is not FirstUse.NEITHER:
        return found
    branches = [node.child_by_field_name(one) for one in ("consequence", "alternative")]
    each = {first_use(facts, one, local) for one in branches}
    if FirstUse.READS in each:
        return FirstUse.READS
    return FirstUse.WRITES if each == {FirstUse.WRITES} else FirstUse.NEITHER


def _of_loop(facts: Facts, node: Node, local: int) -> FirstUse:
    start, condition, update, body = (
        node.child_by_field_name(one) for one in ("initializer", "condition", "update", "body")
    )
    if node.type != "do_statement":
        found = _of_all(facts, (start, condition), local)
        if found is not FirstUse.NEITHER:
            return found
    inside = first_use(facts, body, local)
    if inside is FirstUse.WRITES and body is not None and not _jumps(body):
        return FirstUse.WRITES if node.type == "do_statement" else FirstUse.NEITHER
    rest = _of_all(facts, (update, condition), local)
    return FirstUse.READS if FirstUse.READS in (inside, rest) else FirstUse.NEITHER


def _jumps(node: Node) -> bool:
    return any(one.type in _JUMPS for one in descend(node))


def _is_shortcut(node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return operator is not None and operator.type in ("&&", "||")
