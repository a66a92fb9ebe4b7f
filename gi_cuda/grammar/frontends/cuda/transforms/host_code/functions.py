"""Host functions that launch kernels: their variables, and where these are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import AXES, Code, descend
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import (
    HEAD,
    expression,
    function,
    is_floating,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.kinds import HostKinds, Kind

Span = tuple[int, int]
"""Start and end offset of a text."""

_WORD = re.compile(r"[^\W\d]\w*")
_SCOPES = frozenset(
    {
        "compound_statement",
        "for_statement",
        "for_range_loop",
        "if_statement",
        "while_statement",
        "switch_statement",
        "lambda_expression",
        "function_definition",
    }
)
_DECLARES = frozenset({"declaration", "parameter_declaration", "optional_parameter_declaration"})
_LOOSE = frozenset({"binary_expression", "conditional_expression"})
_MEMBERS = frozenset({"field_expression", "subscript_expression", "pointer_expression"})
_INDIRECT = frozenset({"pointer_declarator", "array_declarator"})
_LISTS = frozenset({"argument_list", "parameter_list", "initializer_list"})
_BY_VALUE = re.compile(r"cuda\w+|f?printf|[mc]alloc|mem(?:cpy|set)")
"""Functions of C that do not change their numeric arguments."""

_CHANGES = re.compile(r"\s*(?:\.\s*[xyz]\s*)?(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_CHANGED_BEFORE = re.compile(r"(?:\+\+|--|(?<!&)&|>>)\s*$")


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable or a parameter.

    Attributes:
        name: as declared.
        at: the offset of the name where the variable is declared.
        scope: where the name can be used.
        type: the type as declared; of a pointer or array, that of the elements.
        kind: the kind of the value; None where that is not certain.
        written: the spans of the values of its declaration: two of ``dim3 grid(a, b)``, one of
            ``int blocks = a``; None where there are none.
        fixed: whether its values may come from elsewhere: those of parameters and static variables.
    """

    name: str
    at: int
    scope: Span
    type: str
    kind: Kind | None
    written: tuple[Span, ...] | None
    fixed: bool


@dataclass(frozen=True, slots=True)
class Settled:
    """The values that a variable always has.

    Attributes:
        values: their spans.
        assigned: the offset of the variable's name in the assignment that gives the values, or
            where it is declared with them.
    """

    values: tuple[Span, ...]
    assigned: int


class HostFunction:
    """A function that launches kernels.

    Args:
        code: the source.
        kinds: the kinds of its other names.
        node: the function's definition.
    """

    def __init__(self, code: Code, kinds: HostKinds, node: Node) -> None:
        self._code = code
        self._kinds = kinds
        self._node = node
        self._bare = code.bare(node)
        self._settled: dict[Variable, Settled | None] = {}

    def text(self, span: Span) -> str:
        """Return the text of a span."""
        return self._code.text[span[0] : span[1]]

    def find(self, name: str, at: int) -> Variable | None:
        """Return the variable that a name stands for at an offset."""
        found = (
            one
            for one in self._variables
            if one.name == name and one.at <= at and one.scope[0] <= at < one.scope[1]
        )
        return max(found, key=lambda one: one.at, default=None)

    def kind(self, text: str, at: int) -> Kind | None:
        """Return the kind of an expression at an offset; None where that is not certain."""
        return self._kinds.of_expression(text, lambda name: self._type(name, at))

    def floating(self, name: str, at: int) -> bool:
        """Tell whether a name has a floating-point type at an offset."""
        return is_floating(self._type(name, at) or self._kinds.declared.get(name, ""))

    def constant(self, name: str, at: int) -> int | None:
        """Return the number that a macro or constant of the file is; None of other names."""
        return self._kinds.constant(name) if self.find(name, at) is None else None

    def is_steady(self, span: Span, at: int) -> bool:
        """Tell whether an expression has the same value and meaning further down, at an offset.

        Its variables have to be local numbers that are neither changed nor given to a function of
        host code behind the expression.
        """
        node = expression(self.text(span))
        for one in descend(node) if node is not None else ():
            name = self._code.text[span[0] + one.start_byte - len(HEAD) :][: len(one.text or b"")]
            if one.type in _MEMBERS:
                return False
            if one.type == "identifier" and not self._is_steady_name(name, span, at):
                return False
        return node is not None

    def _is_steady_name(self, name: str, span: Span, at: int) -> bool:
        variable = self.find(name, span[0])
        if variable is None:
            return name in self._kinds.macros or function(name) is not None
        if variable.kind is not Kind.NUMBER or self.find(name, at) != variable:
            return False
        later = (one for one in self._mentions(variable) if one >= span[1])
        return not any(self._is_change(variable, one) or self._is_given(one) for one in later)

    def _is_given(self, at: int) -> bool:
        """Tell whether a variable is given as it is to a function that may change it."""
        node = self._node.descendant_for_byte_range(at, at + 1)
        given = None if node is None else node.parent
        call = None if given is None or given.type != "argument_list" else given.parent
        if call is None or any(one.type == "kernel_call_syntax" for one in call.children):
            return False
        called = call.child_by_field_name("function")
        return called is None or not _BY_VALUE.fullmatch(self._code.span(called))

    def is_loose(self, text: str) -> bool:
        """Tell whether an expression is a macro that has to be put in parentheses as an operand."""
        bodies = (expression(one.body.strip()) for one in self._kinds.macros.get(text, ()))
        return any(one is None or one.type in _LOOSE for one in bodies)

    def _type(self, name: str, at: int) -> str | None:
        found = self.find(name, at)
        return None if found is None else found.type

    # -- uses -------------------------------------------------------------------------------------

    def uses(self, variable: Variable) -> frozenset[int]:
        """Return the offsets at which a variable is used, other than to give it its values.

        A macro that uses the variable counts as the offset -1.
        """
        settled = self.settled(variable)
        own = {variable.at, variable.at if settled is None else settled.assigned}
        macros = set(_WORD.findall(self._bare)) & self._code.macros.keys()
        hidden = any(
            variable.name in one.free_names for m in macros for one in self._code.macros[m]
        )
        return frozenset(self._mentions(variable)) - own | ({-1} if hidden else set())

    def _mentions(self, variable: Variable) -> Iterator[int]:
        start = self._node.start_byte
        for match in re.finditer(rf"\b{variable.name}\b", self._bare):
            at = match.start() + start
            if self.find(variable.name, at) == variable:
                yield at

    def is_read(self, variable: Variable) -> bool:
        """Tell whether a variable is used in launches alone, or by its members."""
        for at in self.uses(variable):
            end = at + len(variable.name)
            node = self._node.descendant_for_byte_range(at, end) if at >= 0 else None
            above = None if node is None else node.parent
            if above is None or above.type not in ("kernel_call_syntax", "field_expression"):
                return False
        return True

    def settled(self, variable: Variable) -> Settled | None:
        """Return the values that a variable always has; None where it has others later."""
        if variable not in self._settled:
            found = self._settle(variable)
            kinds = [self.kind(self.text(one), one[0]) for one in found.values] if found else []
            whole = len(kinds) == 1 if variable.kind is Kind.NUMBER else len(kinds) <= len(AXES)
            certain = variable.kind is not None and set(kinds) <= {Kind.NUMBER}
            self._settled[variable] = found if whole and certain else None
        return self._settled[variable]

    def _settle(self, variable: Variable) -> Settled | None:
        places = [(one.name, one.scope) for one in self._variables]
        if places.count((variable.name, variable.scope)) > 1:
            return None
        changes = [at for at in self._mentions(variable) if self._is_change(variable, at)]
        if variable.fixed or variable.name in self._code.source.varied:
            return None
        if not changes and variable.written is not None:
            return Settled(variable.written, variable.at)
        if len(changes) == 1 and variable.written is None:
            values = self._assigned(variable, changes[0])
            return None if values is None else Settled(values, changes[0])
        return None

    def _is_change(self, variable: Variable, at: int) -> bool:
        """Tell whether a variable may get another value where it stands."""
        place = at - self._node.start_byte
        if at == variable.at:
            return False
        after = _CHANGES.match(self._bare, place + len(variable.name))
        return after is not None or _CHANGED_BEFORE.search(self._bare, 0, place) is not None

    def _assigned(self, variable: Variable, at: int) -> tuple[Span, ...] | None:
        """Return the values of ``blocks = a;`` or ``grid = dim3(a, b);``."""
        name = self._node.descendant_for_byte_range(at, at + len(variable.name))
        above = None if name is None else name.parent
        if above is None or above.type != "assignment_expression" or above.parent is None:
            return None
        operator, value = above.child_by_field_name("operator"), above.child_by_field_name("right")
        alone = above.parent.type == "expression_statement"
        if not alone or operator is None or operator.type != "=" or value is None:
            return None
        return values_of(value)

    # -- declarations -----------------------------------------------------------------------------

    @cached_property
    def _variables(self) -> tuple[Variable, ...]:
        """Return the variables in the order of the text."""
        found: dict[str, Variable] = {}
        every: list[Variable] = []

        def local(name: str) -> str | None:
            return found[name].type if name in found else None

        for node in descend(self._node):
            for declarator in node.children_by_field_name("declarator"):
                if node.type in _DECLARES:
                    one = self._declared(node, declarator, local)
                    if one is not None:
                        every.append(one)
                        found[one.name] = one
        return tuple(every)

    def _declared(
        self, node: Node, declarator: Node, local: Callable[[str], str | None]
    ) -> Variable | None:
        """Return the variable of a declarator."""
        name, scope = name_node(declarator), node.parent
        type = node.child_by_field_name("type")
        while scope is not None and scope.type not in _SCOPES:
            scope = scope.parent
        if name is None or type is None or scope is None:
            return None
        spelled, outer = self._code.span(type), _outer(declarator)
        kind = None if outer.type in _INDIRECT else self._kinds.of_type(spelled)
        value = declarator.child_by_field_name("value")
        if spelled == "auto" and value is not None:
            kind = self._kinds.of_expression(self._code.span(value), local)
            spelled = _TYPES.get(kind, "")
        fixed = node.type != "declaration" or outer.type == "reference_declarator"
        words = {self._code.span(one) for one in node.children}
        static = "static" in words and not words & {"const", "constexpr"}
        return Variable(
            self._code.span(name),
            name.start_byte,
            (scope.start_byte, scope.end_byte),
            spelled,
            kind,
            _declared_values(declarator),
            fixed or static,
        )


_TYPES: dict[Kind | None, str] = {Kind.NUMBER: "int", Kind.DIM3: "dim3"}
"""Types in the place of ``auto``."""


def _outer(declarator: Node) -> Node:
    """Return a declarator without its value."""
    inner = declarator.child_by_field_name("declarator")
    return inner if declarator.type == "init_declarator" and inner is not None else declarator


def _declared_values(declarator: Node) -> tuple[Span, ...] | None:
    """Return the spans of the values that a variable is declared with; None where there are none.

    ``dim3 grid(n)`` looks like the declaration of a function to the parser.
    """
    if declarator.type == "function_declarator":
        return _spans(declarator.child_by_field_name("parameters"))
    value = declarator.child_by_field_name("value")
    return None if value is None or declarator.type != "init_declarator" else values_of(value)


def values_of(node: Node) -> tuple[Span, ...]:
    """Return the spans of the values that an expression or initialiser consists of: those of
    ``dim3(a, b)`` and ``{a, b}``, or the expression itself."""
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    if node.type in _LISTS:
        return _spans(node)
    if node.type == "compound_literal_expression":
        return _spans(node.child_by_field_name("value"))
    if called is not None and called.text == b"dim3":
        return _spans(node.child_by_field_name("arguments"))
    return ((node.start_byte, node.end_byte),)


def _spans(node: Node | None) -> tuple[Span, ...]:
    return tuple((one.start_byte, one.end_byte) for one in parts(node))
