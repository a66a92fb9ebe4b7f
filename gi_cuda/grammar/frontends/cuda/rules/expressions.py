"""Rules within expressions (COND, rhs and op), and the types that their places take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.infer import Inference
from gi_cuda.grammar.frontends.cuda.declarations.signatures import Signature
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings, RuleDraft
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.values import INT, Demand, Strictness, Type, Value

_LOGICAL = frozenset({"&&", "||", "and", "or"})
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">=", "not_eq"})
_INTEGER_ASSIGNMENTS = frozenset({"%=", "<<=", ">>=", "&=", "|=", "^="})


class Around(NamedTuple):
    """The context of an expression.

    Attributes:
        function: number of the function that contains the expression.
        at: offset at which its names are looked up; None: at the expression.
        strict: True if the expression's type may select an overload or a template.
        demand: the requirement of the place; None if the expression cannot be an op rule.
    """

    function: int
    at: int | None = None
    strict: bool = False
    demand: Demand | None = None

    def taking(self, demand: Demand | None, *, strict: bool | None = None) -> Around:
        """Return the context for a part of the expression with its own requirement."""
        strict = self.strict if strict is None else strict
        if strict and demand is not None:
            demand = Demand(demand.type, Strictness.EXACT, demand.variable)
        return Around(self.function, self.at, strict, demand)


Parts = Iterator[tuple[Node, Around]]


class ExpressionReader:
    """Makes the rules of expressions whose context is known."""

    def __init__(self, findings: Findings, inference: Inference) -> None:
        self.findings = findings
        self.inference = inference

    def expressions(self, root: Node, around: Around) -> None:
        """Make the rules of an expression and of its parts."""
        stack = [(root, around)]
        while stack:
            node, here = stack.pop()
            reader = _EXPRESSIONS.get(node.type)
            if reader is not None:
                stack.extend(reader(self, node, here))

    def target(self, root: Node, around: Around) -> None:
        """Make the rules in an assignment's target; the variable stays, indices may change."""
        node: Node | None = root
        while node is not None:
            argument = node.child_by_field_name("argument")
            if node.type == "parenthesized_expression" and node.named_child_count == 1:
                node = node.named_children[0]
                continue
            if node.type == "subscript_expression":
                for index in self._indices(node):
                    self.expressions(index, around.taking(self.own(index, around), strict=False))
            elif node.type == "call_expression":
                self.expressions(node, around.taking(None))
                return
            elif node.type not in ("field_expression", "pointer_expression"):
                return
            if argument is not None and self._leads_on(node, argument, around.function):
                demand = self.own(argument, around, strict=True)
                self.expressions(argument, around.taking(demand))
                return
            node = argument

    def _leads_on(self, node: Node, argument: Node, function: int) -> bool:
        """Tell whether a part of a target is a pointer that is dereferenced, so a value."""
        operator = node.child_by_field_name("operator")
        if node.type == "field_expression":
            return operator is not None and operator.type == "->"
        if node.type == "pointer_expression" and operator is not None and operator.type == "*":
            return True
        return argument.type == "identifier" and node.type == "subscript_expression"

    def _operand(self, node: Node, around: Around) -> Parts:
        typed = self.inference.typed(node, around.function)
        if around.demand is not None and typed is not None and not _is_nothing(typed.type):
            value = Value(typed.type, typed.variable, around.demand)
            self.rule(RuleType.OP, node, around, value)
        return iter(())

    def _parentheses(self, node: Node, around: Around) -> Parts:
        return ((child, around) for child in node.named_children)

    def _binary(self, node: Node, around: Around) -> Parts:
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator is None or left is None or right is None:
            return
        sides = [self._type(side, around.function) for side in (left, right)]
        if operator.type in _LOGICAL:
            builtin = all(type_ is None or _is_scalar(type_) for type_ in sides)
            for side in (left, right):
                yield self._condition(side, around, builtin=builtin)
            return
        known = all(type_ is not None and _is_scalar(type_) for type_ in sides)
        for side, mine, other in zip((left, right), sides, reversed(sides), strict=True):
            if known and mine is not None and other is not None:
                no_pointer_but_null = operator.type in _COMPARISONS and other.pointer
                if no_pointer_but_null and not mine.pointer:
                    yield side, around.taking(None)
                    continue
            yield side, around.taking(self.own(side, around), strict=around.strict or not known)

    def _condition(
        self, node: Node, around: Around, *, builtin: bool = True
    ) -> tuple[Node, Around]:
        """Make a COND rule of an operand that is a condition; return it with its context."""
        while node.type == "parenthesized_expression" and node.named_child_count == 1:
            node = node.named_children[0]
        if builtin and node.type not in ("comma_expression", "assignment_expression"):
            self.rule(RuleType.COND, node, around, None)
        return node, around.taking(None, strict=False)

    def _unary(self, node: Node, around: Around) -> Parts:
        operator = node.child_by_field_name("operator")
        argument = node.child_by_field_name("argument")
        if operator is None or argument is None:
            return
        type_ = self._type(argument, around.function)
        if operator.type in ("!", "not"):
            yield self._condition(argument, around, builtin=type_ is not None and _is_scalar(type_))
        else:
            known = type_ is not None and type_.arithmetic
            demand = self.own(argument, around)
            yield argument, around.taking(demand, strict=around.strict or not known)

    def _pointer(self, node: Node, around: Around) -> Parts:
        operator = node.child_by_field_name("operator")
        argument = node.child_by_field_name("argument")
        if operator is None or argument is None:
            return
        if operator.type == "&":
            self.target(argument, around)
        else:
            yield argument, around.taking(self.own(argument, around))

    def _subscript(self, node: Node, around: Around) -> Parts:
        array = node.child_by_field_name("argument")
        if array is None:
            return
        type_ = self._type(array, around.function)
        known = type_ is not None and type_.pointer
        yield array, around.taking(self.own(array, around), strict=around.strict or not known)
        for index in self._indices(node):
            yield index, around.taking(self.own(index, around), strict=not known)

    def _indices(self, node: Node) -> list[Node]:
        listed = node.child_by_field_name("indices")
        return [] if listed is None else listed.named_children

    def _field(self, node: Node, around: Around) -> Parts:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            yield argument, around.taking(self.own(argument, around, strict=True))

    def _cast(self, node: Node, around: Around) -> Parts:
        value = node.child_by_field_name("value")
        if value is not None:
            yield value, self._converted(value, around)

    def _converted(self, value: Node, around: Around) -> Around:
        """Return the context of a cast's operand: any number if it is a number, else its type."""
        type_ = self._type(value, around.function)
        number = type_ is not None and type_.arithmetic
        return around.taking(self.own(value, around), strict=not number)

    def _conditional(self, node: Node, around: Around) -> Parts:
        condition = node.child_by_field_name("condition")
        if condition is not None:
            yield self._condition(condition, around)
        arms = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
        types = [self._type(arm, around.function) for arm in arms if arm is not None]
        numbers = all(type_ is not None and type_.arithmetic for type_ in types)
        for arm in arms:
            if arm is not None:
                demand = self.own(arm, around) if numbers or len(set(types)) == 1 else None
                yield arm, around.taking(demand, strict=around.strict or not numbers)

    def _assignment(self, node: Node, around: Around) -> Parts:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return
        self.target(left, around)
        wanted = self._type(left, around.function)
        if wanted is not None and operator.type != "=":
            if wanted.pointer or operator.type in _INTEGER_ASSIGNMENTS:
                wanted = INT
            elif not wanted.arithmetic:
                wanted = None
        if wanted is None:
            yield right, around.taking(None, strict=True)
        else:
            self.right_side(right, wanted, around)

    def right_side(self, node: Node, wanted: Type, around: Around) -> None:
        """Make a rule of an expression assigned to a variable, and rules of its parts.

        Args:
            node: the expression.
            wanted: type of the variable.
            around: context of the expression.
        """
        found = self.inference.typed(node, around.function)
        if node.type != "initializer_list" and found is not None and not _is_nothing(found.type):
            need = Strictness.CONVERTIBLE
            value = Value(found.type, found.variable, Demand(wanted.value, need))
            self.rule(RuleType.RHS, node, around, value)
        self.expressions(node, around.taking(None, strict=not _is_scalar(wanted)))

    def _update(self, node: Node, around: Around) -> Parts:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            self.target(argument, around)
        return iter(())

    def _comma(self, node: Node, around: Around) -> Parts:
        return ((child, around.taking(None)) for child in node.named_children)

    def _call(self, node: Node, around: Around) -> Parts:
        called = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        if called is None or listed is None:
            return
        name, arguments = self.findings.span(called), listed.named_children
        if name in self.findings.macros.names:
            return
        if called.type == "primitive_type" or self.inference.is_cast(called):
            for argument in arguments:
                yield argument, self._converted(argument, around)
            return
        if called.type == "field_expression":
            object_ = called.child_by_field_name("argument")
            if object_ is not None:
                own = self.own(object_, around, strict=True)
                yield object_, around.taking(own)
        signature = None
        if called.type == "identifier":
            signature = self.inference.signature(name, node.start_byte, around.function)
        for k, argument in enumerate(arguments):
            yield argument, self._argument(argument, k, signature, around)

    def _argument(
        self, argument: Node, k: int, signature: Signature | None, around: Around
    ) -> Around:
        own = self.own(argument, around, strict=True)
        if signature is None or k >= len(signature.parameters) or own is None:
            return around.taking(own, strict=True)
        type_, reference = signature.parameters[k]
        if type_ is None or reference:
            return around.taking(own, strict=True)
        if _is_scalar(type_):
            return around.taking(Demand(type_.value, Strictness.CONVERTIBLE), strict=False)
        return around.taking(Demand(type_.value, Strictness.EXACT), strict=False)

    # -- shared -------------------------------------------------------------------------------

    def _type(self, node: Node | None, function: int) -> Type | None:
        return self.inference.type(node, function)

    def own(self, node: Node, around: Around, *, strict: bool = False) -> Demand | None:
        """Return a requirement for the type that the node already has."""
        typed = self.inference.typed(node, around.function)
        if typed is None:
            return None
        need = Strictness.KIND if _is_scalar(typed.type) and not strict else Strictness.EXACT
        return Demand(typed.type, need, strict and typed.variable)

    def rule(self, kind: RuleType, node: Node, around: Around, value: Value | None) -> None:
        """Make a rule of a node, unless a directive cuts through it."""
        start, end = node.start_byte, node.end_byte
        if start < end and self.findings.presence.is_whole(start, end):
            self.findings.rules.append(
                RuleDraft(kind, start, end, around.function, value=value, at=around.at)
            )


def _is_scalar(type_: Type) -> bool:
    return type_.arithmetic or type_.pointer


def _is_nothing(type_: Type) -> bool:
    return type_.base in ("", "void") and not type_.levels


_EXPRESSIONS: dict[str, Callable[[ExpressionReader, Node, Around], Parts]] = {
    "identifier": ExpressionReader._operand,
    "number_literal": ExpressionReader._operand,
    "char_literal": ExpressionReader._operand,
    "true": ExpressionReader._operand,
    "false": ExpressionReader._operand,
    "parenthesized_expression": ExpressionReader._parentheses,
    "binary_expression": ExpressionReader._binary,
    "unary_expression": ExpressionReader._unary,
    "pointer_expression": ExpressionReader._pointer,
    "subscript_expression": ExpressionReader._subscript,
    "field_expression": ExpressionReader._field,
    "cast_expression": ExpressionReader._cast,
    "conditional_expression": ExpressionReader._conditional,
    "assignment_expression": ExpressionReader._assignment,
    "update_expression": ExpressionReader._update,
    "comma_expression": ExpressionReader._comma,
    "call_expression": ExpressionReader._call,
}
