"""Accumulators of loops: variables to which every iteration adds, in any order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import declarators, parts
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name
from gi_cuda.grammar.frontends.cuda.transforms.reading.dataflow import Facts, Use
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.values import Type

_SHUFFLED = frozenset(
    {
        *("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"),
        *("float", "double"),
    }
)
"""The types that warp shuffles take."""


class Operation(Enum):
    """Operations by which an iteration changes an accumulator."""

    SUM = "+"
    PRODUCT = "*"
    OR = "|"
    XOR = "^"
    MIN = "min"
    MAX = "max"

    @property
    def identity(self) -> str | None:
        """The identity element; None for idempotent operations, for example the maximum."""
        return {"+": "0", "*": "1", "^": "0"}.get(self.value)


_BY_SIGN = {
    "+=": Operation.SUM,
    "-=": Operation.SUM,
    "*=": Operation.PRODUCT,
    "|=": Operation.OR,
    "^=": Operation.XOR,
    "++": Operation.SUM,
    "--": Operation.SUM,
}
_BETWEEN = {
    "+": Operation.SUM,
    "-": Operation.SUM,
    "*": Operation.PRODUCT,
    "|": Operation.OR,
    "^": Operation.XOR,
}
_BY_CALL = {
    **dict.fromkeys(("max", "fmaxf", "fmax", "umax", "llmax"), Operation.MAX),
    **dict.fromkeys(("min", "fminf", "fmin", "umin", "llmin"), Operation.MIN),
    **dict.fromkeys(("fmaf", "fma", "__fmaf_rn", "__fma_rn"), Operation.SUM),
}
_ZERO = re.compile(r"[-+]?0*\.?0*(?:[eE][-+]?\d+)?[fFuUlL]*")
_ONE = re.compile(r"\+?0*1\.?0*(?:[eE][-+]?0+)?[fFuUlL]*")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A variable, a member or an array to which every iteration of a loop adds.

    Attributes:
        local: where the variable is declared.
        name: its text: ``sum``, ``force.x``; of an array its name.
        operation: how it is added to.
        type: the type of the number.
        size: of an array, the number of its elements as written; else empty.
    """

    local: int
    name: str
    operation: Operation
    type: Type
    size: str = ""


def accumulators(facts: Facts, loop: Node, local: int) -> tuple[Accumulator, ...] | None:
    """Read all uses of a local variable in a loop as additions to accumulators.

    Examples: ``sum += x``, ``sum = sum + x``, ``best = max(best, x)``, ``if (x > best) best = x;``,
    ``force.x += x``, ``sums[k] += x``.

    Returns:
        None if the loop uses the variable in another way.
    """
    uses = [one for one in facts.within(loop) if one.local == local]
    found: dict[str, Accumulator] = {}
    explained: set[int] = set()
    for use in uses:
        if not use.writes:
            continue
        added = _added(facts, use)
        one = None if added is None else _accumulator(facts, use, added[0])
        if added is None or one is None or found.setdefault(one.name, one) != one:
            return None
        explained |= added[1]
    if any(one.node.id not in explained for one in uses):
        return None
    return tuple(found.values())


def _accumulator(facts: Facts, use: Use, operation: Operation) -> Accumulator | None:
    code, whole = facts.code, use.whole
    type_ = code.type(whole, facts.function)
    if use.local is None or use.roots or type_ is None or type_.levels:
        return None
    if type_.base not in _SHUFFLED:
        return None
    if operation in (Operation.OR, Operation.XOR) and type_.floating:
        return None
    if whole.type == "subscript_expression":
        declared = code.declared_type(use.node, facts.function)
        inner = whole.child_by_field_name("argument")
        if inner != use.node or declared is None or len(declared.levels) != 1:
            return None
        size = declared.levels[0][1:-1]
        name = code.span(use.node)
        return Accumulator(use.local, name, operation, type_, size) if size else None
    if whole.type == "field_expression" and whole.child_by_field_name("argument") != use.node:
        return None
    return Accumulator(use.local, code.span(whole), operation, type_)


def _added(facts: Facts, use: Use) -> tuple[Operation, set[int]] | None:
    """Return how a use adds to its variable, and the identifiers that are part of the addition."""
    by = use.by
    if by is None or not _is_statement(by):
        return None
    operator = by.child_by_field_name("operator")
    sign = "" if operator is None else facts.code.span(operator)
    operation = _BY_SIGN.get(sign)
    if operation is not None:
        fits = by.type == "update_expression" or _keeps_kind(
            facts, use, by.child_by_field_name("right")
        )
        return (operation, {use.node.id}) if fits else None
    right = by.child_by_field_name("right")
    if sign != "=" or right is None:
        return None
    for read in (_of_call, _of_sum, _of_conditional, _of_if):
        found = read(facts, use, right)
        if found is not None:
            return found[0], {use.node.id} | found[1]
    return None


def _is_statement(by: Node) -> bool:
    """Tell whether the value of an assignment is not used."""
    above = by.parent
    while above is not None and above.type == "comma_expression":
        by, above = above, above.parent
    if above is None or above.type == "expression_statement":
        return above is not None
    return above.type == "for_statement" and above.child_by_field_name("update") == by


def _keeps_kind(facts: Facts, use: Use, added: Node | None) -> bool:
    """Tell whether what is added to an integer is an integer, so that no sum is rounded."""
    target = facts.code.type(use.whole, facts.function)
    if target is None or target.floating:
        return target is not None
    given = facts.code.type(added, facts.function)
    return given is not None and given.integral


def _same(facts: Facts, use: Use, node: Node | None) -> set[int]:
    """Return the ``Node.id`` of an expression that is the accumulator; else the empty set."""
    node = None if node is None else unparenthesized(node)
    if node is None or _text(facts, node) != _text(facts, use.whole):
        return set()
    return {
        one.node.id for one in facts.within(node) if one.local == use.local and one.whole == node
    }


def _text(facts: Facts, node: Node) -> str:
    return "".join(facts.code.span(node).split())


_Found = tuple[Operation, set[int]] | None


def _of_call(facts: Facts, use: Use, right: Node) -> _Found:
    """Read ``max(sum, x)`` or ``fmaf(x, y, sum)``."""
    if right.type != "call_expression":
        return None
    operation = _BY_CALL.get(called_name(facts.code, right) or "")
    arguments = parts(right.child_by_field_name("arguments"))
    if operation is None or len(arguments) != (3 if operation is Operation.SUM else 2):
        return None
    places = (2,) if operation is Operation.SUM else (0, 1)
    for place in places:
        found = _same(facts, use, arguments[place])
        others = (one for one in arguments if one != arguments[place])
        if found and all(_keeps_kind(facts, use, one) for one in others):
            return operation, found
    return None


def _of_sum(facts: Facts, use: Use, right: Node) -> _Found:
    """Read ``sum + x``, ``x + sum - y`` or ``sum * x``."""
    terms = list(_terms(right))
    if not terms or not _keeps_kind(facts, use, right):
        return None
    operation = terms[0][0]
    for sign, term in terms:
        found = _same(facts, use, term)
        if found and sign is not None and not _negative(term):
            return operation or sign, found
    return None


def _terms(node: Node) -> Iterator[tuple[Operation | None, Node]]:
    """Return the operands of a chain of one associative operator, with their operations."""
    operator = node.child_by_field_name("operator")
    sign = _BETWEEN.get(operator.type) if operator is not None else None
    if node.type != "binary_expression" or sign is None:
        return
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    inner = [] if left is None else list(_terms(left))
    if inner and inner[0][0] is sign:
        yield from inner
    elif left is not None:
        yield sign, left
    if right is not None:
        yield sign, right


def _negative(term: Node) -> bool:
    """Tell whether a term is subtracted."""
    above = term.parent
    operator = None if above is None else above.child_by_field_name("operator")
    right = None if above is None else above.child_by_field_name("right")
    return operator is not None and operator.type == "-" and right == term


def _of_conditional(facts: Facts, use: Use, right: Node) -> _Found:
    """Read ``x > best ? x : best``."""
    right = unparenthesized(right)
    if right.type != "conditional_expression":
        return None
    condition, one, other = (
        right.child_by_field_name(part) for part in ("condition", "consequence", "alternative")
    )
    if condition is None or one is None or other is None:
        return None
    for taken, kept, sign in ((one, other, True), (other, one, False)):
        found = _same(facts, use, kept)
        compared = _compared(facts, use, condition, taken) if found else None
        if compared is not None:
            operation, ids = compared
            return (operation if sign else _opposite(operation)), found | ids
    return None


def _of_if(facts: Facts, use: Use, right: Node) -> _Found:
    """Read ``if (x > best) best = x;``."""
    above = None if use.by is None else use.by.parent
    if above is None or above.type != "expression_statement":
        return None
    statement, above = above, above.parent
    if above is not None and above.type == "compound_statement" and len(parts(above)) == 1:
        statement, above = above, above.parent
    if above is None or above.type != "if_statement":
        return None
    if above.child_by_field_name("alternative") is not None:
        return None
    clause = above.child_by_field_name("condition")
    value = None if clause is None else clause.child_by_field_name("value")
    if value is None or above.child_by_field_name("consequence") != statement:
        return None
    return _compared(facts, use, value, right)


def _compared(facts: Facts, use: Use, condition: Node, taken: Node) -> _Found:
    """Return the operation that takes a value under a condition: ``taken > best`` is a maximum."""
    condition = unparenthesized(condition)
    operator = condition.child_by_field_name("operator")
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if condition.type != "binary_expression" or operator is None or left is None or right is None:
        return None
    if operator.type not in ("<", "<=", ">", ">=") or not _keeps_kind(facts, use, taken):
        return None
    greater = operator.type in (">", ">=")
    for value, kept, swapped in ((left, right, False), (right, left, True)):
        found = _same(facts, use, kept)
        if found and _text(facts, value) == _text(facts, taken):
            return (Operation.MAX if greater != swapped else Operation.MIN), found
    return None


def _opposite(operation: Operation) -> Operation:
    return Operation.MIN if operation is Operation.MAX else Operation.MAX


def starts_with_identity(facts: Facts, loop: Node, one: Accumulator) -> bool:
    """Tell whether an accumulator has the identity as its value when a loop begins.

    That is known if the last statement before the loop that mentions the variable sets it to a
    literal: ``float sum = 0;`` or ``x = y = 0.0f;``.
    """
    at = loop
    while at.id != facts.function.body.id:
        above = at.parent
        assert above is not None, "the loop is in the body"
        if above.type == "compound_statement":
            before = above.children[: [each.id for each in above.children].index(at.id)]
            for statement in reversed(before):
                found = _set_by(facts, statement, one)
                if found is not None:
                    return found
        elif above.type not in ("if_statement", "else_clause"):
            return False
        at = above
    return False


def _set_by(facts: Facts, statement: Node, one: Accumulator) -> bool | None:
    """Tell whether a statement sets an accumulator to its identity.

    Returns:
        None if the statement does not mention the accumulator.
    """
    wanted = _ONE if one.operation is Operation.PRODUCT else _ZERO
    if statement.type == "declaration":
        for declarator, value in _declared(statement):
            if declarator.end_byte == one.local:
                if value is not None and value.type == "initializer_list":
                    values = [facts.code.span(each) for each in parts(value)] or ["0"]
                    good = one.operation is not Operation.PRODUCT
                    return good and all(_is_literal(_ZERO, each) for each in values)
                return value is not None and _is_literal(wanted, facts.code.span(value))
    if not any(use.local == one.local for use in facts.within(statement)):
        return None
    inner = statement.named_children[0] if statement.type == "expression_statement" else None
    targets = []
    while inner is not None and inner.type == "assignment_expression":
        operator, left = inner.child_by_field_name("operator"), inner.child_by_field_name("left")
        if operator is None or operator.type != "=" or left is None:
            return False
        targets.append(facts.code.span(left))
        inner = inner.child_by_field_name("right")
    if inner is None or not _is_literal(wanted, facts.code.span(inner)):
        return False
    if one.name in targets:
        return True
    return None if "." in one.name and all("." in each for each in targets) else False


def _declared(declaration: Node) -> Iterator[tuple[Node, Node | None]]:
    """Return the declarators of a declaration with their values."""
    for inner in declarators(declaration):
        above = inner.parent
        held = above is not None and above.type == "init_declarator"
        yield inner, above.child_by_field_name("value") if held and above is not None else None


def _is_literal(wanted: re.Pattern[str], text: str) -> bool:
    return wanted.fullmatch(text) is not None and any(one.isdigit() for one in text)
