"""Sums of fixed numbers and loop counters, and their values where the loops begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.syntax import assigned_root, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import literal
from gi_cuda.grammar.frontends.cuda.transforms.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import (
    is_pure,
    literal_value,
    operator,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.bounds import conjuncts, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import target_of, unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes

_SIGNED = frozenset({"int", "long", "long long"})
_MEMORY = frozenset({"subscript_expression", "pointer_expression", "->"})


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a sum.

    Attributes:
        text: a number that the loops leave as it is; for a counter, its factor, "" for 1.
        negative: whether it is subtracted.
        position: whether it is a variable that the function declares, not a parameter.
        ends: the first and the last value of a counter; None for a number.
    """

    text: str
    negative: bool = False
    position: bool = False
    ends: tuple[Sum, Sum] | None = None


Sum = tuple[Term, ...]
"""A sum, term by term: two terms for ``x + 2 * i``."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A loop that counts up to a limit.

    Attributes:
        declared: where its counter is declared.
        first: the first value of the counter.
        limit: the number that the counter is compared with.
        reached: whether the counter may be equal to the limit.
        body: the statement that is repeated.
    """

    declared: int
    first: Node
    limit: Node
    reached: bool
    body: Node


class SumReader:
    """Reader of the sums in a loop and in the loops inside it.

    Args:
        code: the source.
        function: the function with the loop.
        loop: the outermost loop.

    Attributes:
        same: nodes by ``Node.id``, and the nodes that stand for the same value.
        untaken: the ``if`` statements by ``Node.id`` that must not be entered, so that the sums
            that were read are right.
    """

    def __init__(self, code: Code, function: Function, loop: Node) -> None:
        self.same: dict[int, Node] = {}
        self.untaken: set[int] = set()
        self._code = code
        self._function = function
        self._loop = loop
        changed = changes(code, loop)
        self._exposed = _exposed(code, function)
        self._partly = changed.inner | self._exposed
        self._written = changed.all | self._exposed
        self._own = frozenset(declared_names(loop, code))
        self._elsewhere = changes(code, *(one.body for one in code.called(function))).all
        self._integers = _template_integers(code, function)
        found = ((one, self._counted(one)) for one in descend(loop) if one.type == "for_statement")
        self._loops = {one.id: counted for one, counted in found if counted is not None}

    @property
    def counts(self) -> bool:
        """Tell whether the outermost loop counts up to a limit."""
        return self._loop.id in self._loops

    def read(self, node: Node) -> Sum | None:
        """Read an expression; None if it is not a sum of signed integers."""
        inner = unparenthesized(node)
        if inner.id in self.same:
            return self.read(self.same[inner.id])
        known = self._code.type(inner, self._function)
        if known is not None and (known.levels or known.base not in _SIGNED):
            return None
        sign = operator(inner)
        if sign in ("+", "-", "*"):
            left, right = (self.read(parts(inner)[side]) for side in (0, -1))
            if left is None or right is None:
                return None
            if sign == "*":
                return self._product(inner, left, right)
            return left + (_negated(right) if sign == "-" else right)
        if inner.type == "unary_expression" and self._code.span(inner).startswith("-"):
            negated = self.read(parts(inner)[-1])
            return None if negated is None else _negated(negated)
        if known is None and self._code.span(inner) not in self._integers:
            return None
        start = self._declared(inner) if inner.type == "identifier" else None
        if start is not None:
            ends = self._ends(inner, start)
            if ends is not None:
                return (Term("", ends=ends),)
            if self._loop.start_byte <= start < self._loop.end_byte:
                return self._value(inner, start)
        return self._fixed(node)

    def _declared(self, name: Node) -> int | None:
        """Return where a variable is declared."""
        found = self._code.declaration(name, self._function)
        return None if found is None else found.start

    def _product(self, node: Node, left: Sum, right: Sum) -> Sum | None:
        """Read a product of two sums: of a counter and a fixed number, or of fixed numbers."""
        for one, other in ((left, right), (right, left)):
            alone = len(one) == 1 and one[0].ends is not None and not one[0].text
            if alone and not has_counter(other):
                return (Term(_factor(other), one[0].negative, ends=one[0].ends),)
        return self._fixed(node)

    def _fixed(self, node: Node) -> Sum | None:
        """Read a number that the loops leave as it is."""
        code, function = self._code, self._function
        if any(one.type in _MEMORY for one in descend(node)) or not is_pure(code, node, function):
            return None
        names = [one for one in descend(node) if one.type == "identifier"]
        if any(code.words(one) & (self._written | self._own) for one in names):
            return None
        found = [self._declared(one) or 0 for one in names]
        if any(start < function.node.start_byte for start in found) and (
            code.words(node) & self._elsewhere
        ):
            return None
        position = any(start > function.body.start_byte for start in found)
        text = " ".join(code.span(node).split())
        if literal(text.removeprefix("-")) is not None:
            return (Term(text.removeprefix("-"), text.startswith("-")),)
        return (Term(text, position=position),)

    def _counted(self, loop: Node) -> _Counted | None:
        """Read the header of a loop that counts up: ``for (int i = a; i < n; i++)``."""
        code = self._code
        first, condition, update, body = (
            loop.child_by_field_name(one) for one in ("initializer", "condition", "update", "body")
        )
        if first is None or condition is None or update is None or body is None:
            return None
        steps = (one for one in descend(update) if target_of(one) is not None)
        for name in (target_of(one) for one in steps if _is_increment(code, one)):
            start = next(_starts(code, first, name), None)
            if start is None or name is None or name.type != "identifier":
                continue
            if code.span(name) in changes(code, body).all | self._exposed:
                continue
            declared = self._declared(name)
            for one in conjuncts(condition):
                bound, whole = read_bound(code, one, code.span(name)), unparenthesized(one)
                if bound is not None and bound.from_above and declared is not None:
                    limit = parts(whole)[0 if bound.mirrored else -1]
                    return _Counted(declared, start, limit, bound.operator == "<=", body)
        return None

    def _ends(self, name: Node, declared: int) -> tuple[Sum, Sum] | None:
        """Return the first and last value of a counter, in the body of its loop."""
        at = name
        while at != self._loop and (above := at.parent) is not None:
            loop = self._loops.get(above.id)
            if loop is not None and loop.declared == declared and loop.body == at:
                first, limit = self.read(loop.first), self.read(loop.limit)
                if first is None or limit is None or has_counter(first + limit):
                    return None
                less = () if loop.reached else (Term("1", negative=True),)
                return first, limit + less
            at = above
        return None

    def _value(self, name: Node, declared: int) -> Sum | None:
        """Read the value of a variable that the loop declares: of ``int x = i + j;``, the sum."""
        code, function, text = self._code, self._function, self._code.span(name)
        values, branches = [], list[Node | None]()
        for one in descend(self._loop):
            inner = one.child_by_field_name("declarator")
            if one.type == "init_declarator" and inner is not None and inner.end_byte == declared:
                values.append(one.child_by_field_name("value"))
            root = assigned_root(target_of(one))
            if root is not None and code.span(root) == text:
                branches.append(_branch(one))
            elif one.type == "call_expression" and text in changes(code, one).whole:
                branches.append(None)
        if len(values) != 1 or values[0] is None or None in branches or text in self._partly:
            return None
        if code.type(values[0], function) != code.type(name, function):
            return None
        self.untaken |= {one.id for one in branches if one is not None}
        return self.read(values[0])


def _exposed(code: Code, function: Function) -> frozenset[str]:
    """Return the variables of a function that a pointer or a reference may lead to."""
    found = frozenset[str]()
    for one in descend(function.body):
        if one.type == "pointer_expression" and code.span(one).startswith("&"):
            found |= code.words(one)
        elif one.type == "reference_declarator" and one.parent is not None:
            found |= code.words(one.parent)
        elif one.type == "lambda_expression":
            found |= code.words(one)
    return found


def _template_integers(code: Code, function: Function) -> frozenset[str]:
    """Return the template parameters of a function that are signed integers."""
    above = function.node.parent
    given = None if above is None else above.child_by_field_name("parameters")
    found = set[str]()
    for one in parts(given):
        type_, name = (one.child_by_field_name(part) for part in ("type", "declarator"))
        if type_ is not None and name is not None and code.span(type_) in _SIGNED:
            found.add(code.span(name))
    return frozenset(found)


def _is_increment(code: Code, node: Node) -> bool:
    """Tell whether an expression adds a positive number to a variable."""
    if node.type == "update_expression":
        return "++" in code.span(node)
    step = literal_value(code, parts(node)[-1]) if operator(node) == "+=" else None
    return step is not None and step > 0


def _starts(code: Code, first: Node, name: Node | None) -> Iterator[Node]:
    """Find the values that the beginning of a loop gives to a variable."""
    for one in descend(first):
        key = one.child_by_field_name("declarator" if one.type == "init_declarator" else "left")
        value = one.child_by_field_name("value" if one.type == "init_declarator" else "right")
        assigns = one.type == "init_declarator" or operator(one) == "="
        if not assigns or name is None or key is None or value is None:
            continue
        if code.span(key) == code.span(name):
            yield value


def _branch(node: Node) -> Node | None:
    """Return the ``if`` without ``else`` around a node, if its condition alone decides about it."""
    at = node
    while (above := at.parent) is not None and above.type in (
        *("if_statement", "compound_statement", "expression_statement", "parenthesized_expression"),
    ):
        if above.type == "if_statement":
            plain = above.child_by_field_name("alternative") is None
            return above if plain and above.child_by_field_name("consequence") == at else None
        at = above
    return None


def _negated(terms: Sum) -> Sum:
    return tuple(Term(one.text, not one.negative, one.position, one.ends) for one in terms)


def _factor(terms: Sum) -> str:
    """Write a sum as a factor: with parentheses where it needs them."""
    text = written(terms)
    return text if len(terms) == 1 and not text.startswith("-") else f"({text})"


def extremes(terms: Sum, *, upper: bool) -> Iterator[Sum]:
    """Return sums of which one is the largest value of a sum, or the smallest one.

    Example: of ``x + i`` with ``i`` from ``-R`` to ``R``, ``x + R`` is the largest. Of ``x + s *
    i`` there are two, as ``s`` may be negative.

    Args:
        upper: whether the largest value is meant.
    """
    choices: list[Sequence[Sum]] = []
    for one in terms:
        if one.ends is None:
            choices.append([(one,)])
            continue
        known = not one.text or literal(one.text) is not None
        ends = [one.ends[upper != one.negative]] if known else one.ends
        choices.append([_times(one, end) for end in ends])
    for chosen in product(*choices):
        yield tuple(term for sums in chosen for term in sums)


def _times(counter: Term, end: Sum) -> Sum:
    """Return the product of a counter's factor and one of its ends."""
    if not counter.text:
        return _negated(end) if counter.negative else end
    text = written(end)
    if text in ("0", "1"):
        return (Term(counter.text, counter.negative),) * int(text)
    return (Term(f"{counter.text} * {_factor(end)}", counter.negative),)


def written(terms: Sum) -> str:
    """Write a sum: ``x - R``; literals are added up."""
    whole, others = 0, []
    for one in terms:
        value = literal(one.text)
        if value is None:
            others.append(one)
        else:
            whole += -value if one.negative else value
    others.sort(key=lambda one: one.negative)
    if whole or not others:
        others.append(Term(str(abs(whole)), whole < 0))
    first, *rest = others
    text = f"-{first.text}" if first.negative else first.text
    return text + "".join(f" {'-' if one.negative else '+'} {one.text}" for one in rest)


def has_counter(terms: Sum) -> bool:
    """Tell whether a sum has a loop counter in it."""
    return any(one.ends is not None for one in terms)
