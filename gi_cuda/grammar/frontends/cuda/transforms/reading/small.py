"""Conditions on a launch and a kernel's parameters under which integers fit into 31 bits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend, geometry, holds
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    declared_names,
    indices,
    parameter_names,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import operator
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import joined, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import target_of, unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes, changes_by
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.heads import Head
from gi_cuda.grammar.values import RANKS, Type, arithmetic_result

LARGEST = 0x7FFFFFFF
_LITERAL = re.compile(r"(0[xX][\da-fA-F]+|[1-9]\d*|0)[uUlL]*")
_DIVISIONS = frozenset({"/", "%"})
_SUMS = frozenset({"+", "-", "*"})
_LEAVES = frozenset({"identifier", "number_literal"})

Conditions = dict[str, None]
"""Comparisons that all have to hold, in order."""
_Assumed = frozenset[tuple[str, bool]]


class Small:
    """The conditions under which values of a kernel lie between 0 and 2^31 - 1.

    Args:
        head: the kernel's head.
    """

    def __init__(self, code: Code, kernel: Function, head: Head) -> None:
        self.code, self.kernel = code, kernel
        self._numbers = {one.name for one in head.parameters if one.integral}
        self._changed = changes(code, kernel.body).all
        hidden = code.macro_words(kernel.body)
        names = Counter((*declared_names(kernel.body, code), *parameter_names(code, kernel)))
        if any(one.type == "gnu_asm_expression" for one in descend(kernel.body)):
            names.clear()  # it may write any variable
        self._clear = {one for one, count in names.items() if count == 1 and one not in hidden}
        found = indices(code, kernel)
        threads = [(one.axis, one.node, 3) for one in found.found]
        strides = [(axis, node, 2) for axis, node in found.strides]
        self._products = {
            node.id: axis
            for axis, node, count in (*threads, *strides)
            if sum(one.type in _LEAVES for one in descend(node)) == count
        }

    def type(self, node: Node | None) -> Type | None:
        """Return the type of an expression, also of variables that are declared ``auto``."""
        node = None if node is None else unparenthesized(node)
        known = self.code.type(node, self.kernel)
        if known is not None or node is None:
            return known
        if node.type == "identifier" and (declared := self._declared(node)) is not None:
            kind = declared[0].child_by_field_name("type")
            auto = kind is not None and self.code.span(kind) == "auto"
            return self.type(declared[1].child_by_field_name("value")) if auto else None
        sides = [self.type(node.child_by_field_name(one)) for one in ("left", "right")]
        if operator(node) in _DIVISIONS | _SUMS and None not in sides:
            return arithmetic_result(*(one for one in sides if one is not None))
        return None

    def conditions(
        self, node: Node, *, signed: bool = False, assumed: _Assumed = frozenset()
    ) -> Conditions | None:
        """Return the conditions under which a value lies in that range; None if none are known.

        Args:
            signed: whether the range is that of an ``int`` instead, if the value has a sign.
            assumed: variables of which it is taken for granted, and whether as ``signed``.
        """
        node, code = unparenthesized(node), self.code
        type_ = self.type(node)
        if type_ is None or not type_.integral or type_.rank < RANKS["int"]:
            return None
        signed = signed and not type_.base.startswith("unsigned")
        if signed and type_.rank == RANKS["int"]:
            return {}
        if (literal := _LITERAL.fullmatch(code.span(node))) is not None:
            return {} if int(literal[1], 0) <= LARGEST else None
        if node.id in self._products:
            return self._of_product(node)
        if geometry(node, code.text) is not None:
            return {}
        if (fixed := self._fixed(node)) is not None:
            if type_.rank == RANKS["int"]:
                return {f"{fixed} >= 0": None}
            return {f"(unsigned long long){fixed} <= {LARGEST:#x}": None}
        if node.type == "cast_expression":
            return self._all([node.child_by_field_name("value")], signed, assumed)
        if operator(node) in _DIVISIONS:
            return self._of_division(node, signed, assumed)
        return self._of_variable(node, signed, assumed) if node.type == "identifier" else None

    def of_division(self, node: Node, *, signed: bool) -> Conditions | None:
        """Return the conditions under which both sides of ``x / y`` or ``x /= y`` lie in that
        range, the right one always without a sign."""
        type_ = self.type_of_division(node)
        signed = signed and type_ is not None and not type_.base.startswith("unsigned")
        return self._of_division(node, signed, frozenset())

    def _of_division(self, node: Node, signed: bool, assumed: _Assumed) -> Conditions | None:
        left = self._all([left_of(node)], signed, assumed)
        return _both(left, self._all([right_of(node)], False, assumed))

    def _of_product(self, node: Node) -> Conditions | None:
        """Return the condition for the number of a thread, or for that of all threads."""
        casts = (one.child_by_field_name("type") for one in descend(node))
        types = (self.code.spelled_type(self.code.span(one)) for one in casts if one is not None)
        if any(one is None or not one.integral or one.rank < RANKS["int"] for one in types):
            return None
        axis = self._products[node.id]
        return {f"(unsigned long long)gridDim.{axis} * blockDim.{axis} <= {LARGEST:#x}": None}

    def _all(
        self, nodes: Iterable[Node | None], signed: bool, assumed: _Assumed
    ) -> Conditions | None:
        found: Conditions | None = {}
        for one in nodes:
            more = None if one is None else self.conditions(one, signed=signed, assumed=assumed)
            found = _both(found, more)
        return found

    def _of_variable(self, node: Node, signed: bool, assumed: _Assumed) -> Conditions | None:
        """Return the conditions for a variable: for all values that it gets, or for the limit of
        the loop around that counts by it."""
        name, declared = self.code.span(node), self._declared(node)
        if (name, False) in assumed or (name, signed) in assumed:
            return {}
        if declared is None:
            return None
        counted = self._counted(declared[0], node)
        if counted is not None:
            return self._all(counted, False, assumed)
        values, divisors = [declared[1].child_by_field_name("value")], list[Node | None]()
        for one in self._changing(name):
            target, sign = target_of(one), one.child_by_field_name("operator")
            plain = target is not None and self.code.span(target) == name
            if not plain or sign is None or sign.type not in ("=", "/=", "%="):
                return None
            (values if sign.type == "=" else divisors).append(right_of(one))
        given = [one for one in values if one is not None]
        types = [self.type(one) for one in divisors]
        signed = signed and not any(one is None or one.base[0] == "u" for one in types)
        assumed |= {(name, signed)}
        found = _both(self._all(given, signed, assumed), self._all(divisors, False, assumed))
        return found if given else None

    def _changing(self, name: str) -> list[Node]:
        """Return the assignments and the like that change a variable."""
        nodes = descend(self.kernel.body)
        return [one for one in nodes if name in changes_by(self.code, one).all]

    def _counted(self, declaration: Node, use: Node) -> list[Node | None] | None:
        """Return the first value, step and limit of a loop that counts by a variable up to a limit
        that stays; None if a use of the variable does not stand in the body of one."""
        loop, name = declaration.parent, self.code.span(use)
        if loop is None or loop.type != "for_statement":
            return None
        test, update, body = (loop.child_by_field_name(x) for x in ("condition", "update", "body"))
        if test is None or update is None or body is None or not holds(body, use):
            return None
        sign, step = update.child_by_field_name("operator"), right_of(update)
        counts = sign is not None and sign.type in ("++", "+=")
        if self._changing(name) != [update] or not counts:
            return None
        for one in joined(test, "&&"):
            bound = read_bound(self.code, one, name)
            if bound is not None and bound.from_above:
                limit = left_of(unparenthesized(one)) if bound.mirrored else right_of(one)
                start = self._declarator(declaration, name)
                if limit is not None and self._fixed(limit) is not None and start is not None:
                    return [start.child_by_field_name("value"), step or limit, limit]
        return None

    def _declared(self, node: Node) -> tuple[Node, Node] | None:
        """Return the declaration and declarator of a local variable whose name stands for nothing
        else in the kernel."""
        name = self.code.span(node)
        if node.type != "identifier" or name not in self._clear:
            return None
        for one in descend(self.kernel.body):
            if one.type == "declaration" and (found := self._declarator(one, name)) is not None:
                return one, found
        return None

    def _declarator(self, declaration: Node, name: str) -> Node | None:
        """Return the declarator of a variable that is neither a pointer nor a reference."""
        for one in declaration.children_by_field_name("declarator"):
            named = name_node(one)
            if (
                named is not None
                and self.code.span(named) == name
                and named.parent == (one if one.type == "init_declarator" else declaration)
            ):
                return one
        return None

    def _fixed(self, node: Node) -> str | None:
        """Write an expression of parameters, the block's and grid's size, and numbers, as it reads
        at the kernel's head; None if a variable in it may change."""
        node, code = unparenthesized(node), self.code
        text, told = code.span(node), geometry(node, code.text)
        if _LITERAL.fullmatch(text) or (told is not None and told[0] in ("blockDim", "gridDim")):
            return text
        if node.type == "identifier":
            return self._fixed_variable(node, text)
        if node.type == "cast_expression":
            kind, value = (node.child_by_field_name(one) for one in ("type", "value"))
            inner = None if value is None else self._fixed(value)
            return None if inner is None or kind is None else f"({code.span(kind)}){inner}"
        left, right = left_of(node), right_of(node)
        if operator(node) not in _SUMS or left is None or right is None:
            return None
        first, second = self._fixed(left), self._fixed(right)
        known = first is not None and second is not None
        return f"({first} {operator(node)} {second})" if known else None

    def _fixed_variable(self, node: Node, name: str) -> str | None:
        if name in self._changed or name not in self._clear:
            return None
        if name in self._numbers:
            return name
        declared = self._declared(node)
        value = None if declared is None else declared[1].child_by_field_name("value")
        fixed = None if value is None else self._fixed(value)
        kind = None if declared is None else declared[0].child_by_field_name("type")
        if fixed is None or kind is None:
            return None
        spelled = self.code.span(kind)
        return fixed if spelled == "auto" else f"({spelled}){fixed}"

    def type_of_division(self, node: Node) -> Type | None:
        """Return the type in which ``x / y`` or ``x /= y`` is computed; None of other nodes."""
        if operator(node).removesuffix("=") not in _DIVISIONS:
            return None
        sides = [self.type(left_of(node)), self.type(right_of(node))]
        known = [one for one in sides if one is not None]
        return arithmetic_result(*known) if len(known) == len(sides) else None

    def divisions(self) -> Iterator[Node]:
        """Find the divisions of integers with 64 bits, ``x / y`` and ``x /= y``, that are not by
        numbers alone: of nested ones the outermost."""
        end = 0
        for node in descend(self.kernel.body):
            type_ = self.type_of_division(node)
            if type_ is None or node.start_byte < end or not type_.integral:
                continue
            if type_.rank >= RANKS["long"] and _divides_by_variable(node):
                yield node
                end = node.end_byte


def _divides_by_variable(node: Node) -> bool:
    """Tell whether a division, or one in it, has a variable in its divisor."""
    inner = (one for one in descend(node) if operator(one).removesuffix("=") in _DIVISIONS)
    divisors = (one for each in inner if (one := right_of(each)) is not None)
    return any(one.type == "identifier" for each in divisors for one in descend(each))


def _both(one: Conditions | None, other: Conditions | None) -> Conditions | None:
    return None if one is None or other is None else one | other


def left_of(node: Node) -> Node | None:
    """Return the left side of an expression."""
    return node.child_by_field_name("left")


def right_of(node: Node) -> Node | None:
    """Return the right side of an expression or assignment."""
    return node.child_by_field_name("right")
