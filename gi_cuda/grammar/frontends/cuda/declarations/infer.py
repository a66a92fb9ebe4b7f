"""Type inference for expressions, from the source's declarations; None if a type is uncertain."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.literals import type_of_literal
from gi_cuda.grammar.frontends.cuda.declarations.signatures import Signature
from gi_cuda.grammar.frontends.cuda.declarations.types import TypeBook
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.scope import FILE_LEVEL, Declaration, Scope
from gi_cuda.grammar.values import BOOL, INT, Type, arithmetic_result

_DEEPEST = 60
"""Largest nesting depth of an expression whose type is inferred."""
_COMPARES = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "and", "or", "not_eq"})
_SHIFTS = frozenset({"<<", ">>"})
_FLOAT = Type("float")
_UNSIGNED = Type("unsigned int")
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
_BUILTIN_OBJECTS = {
    **dict.fromkeys(("threadIdx", "blockIdx"), Type("dim3", (), True)),
    **dict.fromkeys(("blockDim", "gridDim"), Type("dim3", (), True)),
}
_OF_FLOAT = re.compile(
    r"__?(?:f(?:add|sub|mul|div|ma)|sin|cos|exp|exp10|log|log2|log10|pow|tan|fdividef|saturatef"
    r"|frcp|fsqrt|int2float|uint2float|int_as_float|uint_as_float)\w*"
    r"|(?:sqrt|rsqrt|sin|cos|tan|exp|exp2|exp10|log|log2|log10|pow|fabs|floor|ceil|round|fmin|fmax"
    r"|fmod|fma|atan2|tanh|erf|rcbrt|cbrt)f"
)
_OF_INT = re.compile(
    r"__(?:popc|popcll|clz|clzll|ffs|ffsll|float2int\w*|float_as_int|syncthreads_\w+|all_sync"
    r"|any_sync|mul24|mulhi|syncthreads_count)"
)
_OF_UNSIGNED = re.compile(
    r"__(?:ballot_sync|activemask|brev|byte_perm|umulhi|umul24|float_as_uint|float2uint\w*"
    r"|match_any_sync|lanemask_\w+)"
)
_OF_POINTEE = re.compile(r"__ld(?:g|ca|cg|cs|cv|lu)|atomic[A-Z]\w*")
_OF_SECOND = re.compile(r"__shfl(?:_up|_down|_xor)?_sync")


class Typed:
    """The type of an expression.

    Attributes:
        type: the type.
        variable: True if the expression is a modifiable variable.
    """

    __slots__ = ("type", "variable")

    def __init__(self, type_: Type, variable: bool = False) -> None:
        self.type = type_
        self.variable = variable


class Inference:
    """Infers the types of expressions in the functions of a source."""

    def __init__(self, findings: Findings, scope: Scope, book: TypeBook) -> None:
        self.findings = findings
        self.scope = scope
        self.book = book
        self._known: dict[int, Typed | None] = {}
        self._macros: dict[str, Type | None] = {}
        self._bodies: dict[str, list[str]] = {}
        for macro in findings.presence.macros():
            body = "" if macro.parameters is not None else macro.body
            self._bodies.setdefault(macro.name, []).append(body)
        self._spelled: dict[str, Type | None] = {}

    def typed(self, node: Node | None, function: int, depth: int = 0) -> Typed | None:
        """Return the type of an expression; None if it is not known.

        Args:
            node: the expression.
            function: number of the function that contains it.
            depth: current nesting depth.
        """
        if node is None or depth > _DEEPEST:
            return None
        if node.id not in self._known:
            reader = _READERS.get(node.type)
            found = None if reader is None else reader(self, node, function, depth + 1)
            if found is not None and found.type.base == "void" and not found.type.levels:
                found = None
            self._known[node.id] = found
        return self._known[node.id]

    def type(self, node: Node | None, function: int, depth: int = 0) -> Type | None:
        """Return the type of an expression's value; None if it is not known."""
        found = self.typed(node, function, depth)
        return None if found is None else found.type.value

    def read(self, spelled: str) -> Type | None:
        """Return the type of a spelling, from the type book (cached); None if it is not known."""
        if spelled not in self._spelled:
            self._spelled[spelled] = self.book.read(spelled)
        return self._spelled[spelled]

    def signature(self, name: str, at: int, function: int) -> Signature | None:
        """Return the signature of a function of the file that a name refers to at a place.

        Return None if the name is a macro, refers to something else, or to an overloaded function
        or template.
        """
        if name in self.findings.macros.names:
            return None
        meant = next(self.scope.visible(name, at, function), None)
        if meant is None or meant.type != "function":
            return None
        return self.book.signature(name)

    def is_cast(self, called: Node) -> bool:
        """Tell whether a called name is ``static_cast`` or another C++ cast."""
        name = called.child_by_field_name("name")
        return name is not None and self.findings.span(name) in _CASTS

    # -- names --------------------------------------------------------------------------------

    def _name(self, node: Node, function: int, depth: int) -> Typed | None:
        name, at = self.findings.span(node), node.start_byte
        found: list[Typed | None] = []
        region = self.findings.presence.region(at)
        for declaration in self.scope.visible(name, at, function):
            found.append(self._declared(declaration, function, depth))
            if self.findings.presence.encloses(declaration.region, region):
                break
        if not found:
            return _builtin(name) or self._enumerator(name)
        first = found[0]
        if first is None or any(one is None or one.type != first.type for one in found):
            return None
        return first

    def _declared(self, declaration: Declaration, function: int, depth: int) -> Typed | None:
        name = declaration.name
        if declaration.function != FILE_LEVEL:
            local = self.read(declaration.type)
            return self._variable(local) if local is not None else self._enumerator(name)
        if name in self.findings.macros.names:
            meant = self._macro(name, depth)
            return None if meant is None else Typed(meant)
        known = self.book.globals.get((name, declaration.start))
        return self._variable(known) if known is not None else self._enumerator(name)

    def _variable(self, type_: Type | None) -> Typed | None:
        if type_ is None:
            return None
        array = bool(type_.levels) and type_.levels[0] != "*"
        return Typed(type_, not array and (bool(type_.levels) or not type_.const))

    def _enumerator(self, name: str) -> Typed | None:
        base = self.book.enums.get(name)
        return None if base is None else Typed(Type(base))

    def _macro(self, name: str, depth: int) -> Type | None:
        """Return the type of a macro that stands for a number, if all its definitions agree."""
        if name not in self._macros:
            self._macros[name] = None
            found = {self._of_body(body, depth) for body in self._bodies[name]}
            self._macros[name] = found.pop() if len(found) == 1 else None
        return self._macros[name]

    def _of_body(self, body: str, depth: int) -> Type | None:
        if not body or depth > _DEEPEST:
            return None
        root = parse(f"int x = {body};")
        declared = root.named_children[0] if root.named_child_count == 1 else None
        declarator = None if declared is None else declared.child_by_field_name("declarator")
        value = None if declarator is None else declarator.child_by_field_name("value")
        if value is None or root.has_error:
            return None
        return self._constant(value, f"int x = {body};", depth + 1)

    def _constant(self, node: Node, text: str, depth: int) -> Type | None:
        """Return the type of an expression of literals and other macros; None if unknown."""
        spelled = text[node.start_byte : node.end_byte]
        children = node.named_children
        if depth > _DEEPEST:
            return None
        if node.type == "number_literal":
            return type_of_literal(spelled)
        if node.type in ("true", "false"):
            return BOOL
        if node.type == "identifier":
            known = spelled in self.findings.macros.names
            return self._macro(spelled, depth + 1) if known else None
        if node.type in ("parenthesized_expression", "unary_expression") and len(children) == 1:
            return self._constant(children[0], text, depth + 1)
        if node.type == "binary_expression" and len(children) == 2:
            one, other = (self._constant(child, text, depth + 1) for child in children)
            operator = node.child_by_field_name("operator")
            if one is None or other is None:
                return None
            if operator is not None and operator.type in _COMPARES:
                return BOOL
            return arithmetic_result(one, other)
        return None

    # -- expressions --------------------------------------------------------------------------

    def _number(self, node: Node, function: int, depth: int) -> Typed | None:
        type_ = type_of_literal(self.findings.span(node))
        return None if type_ is None else Typed(type_)

    def _inner(self, node: Node, function: int, depth: int) -> Typed | None:
        inner = node.named_children
        return self.typed(inner[0], function, depth) if len(inner) == 1 else None

    def _binary(self, node: Node, function: int, depth: int) -> Typed | None:
        operator = node.child_by_field_name("operator")
        left = self.type(node.child_by_field_name("left"), function, depth)
        right = self.type(node.child_by_field_name("right"), function, depth)
        if operator is None or left is None or right is None:
            return None
        scalar = all(side.arithmetic or side.pointer for side in (left, right))
        if operator.type in _COMPARES:
            return Typed(BOOL) if scalar else None
        if operator.type in _SHIFTS:
            found = arithmetic_result(left, INT) if left.integral and right.integral else None
        elif left.pointer or right.pointer:
            found = _of_pointers(operator.type, left, right)
        else:
            found = arithmetic_result(left, right)
        return None if found is None else Typed(found)

    def _unary(self, node: Node, function: int, depth: int) -> Typed | None:
        operator = node.child_by_field_name("operator")
        inner = self.type(node.child_by_field_name("argument"), function, depth)
        if operator is None or inner is None:
            return None
        if operator.type in ("!", "not"):
            return Typed(BOOL) if inner.arithmetic or inner.pointer else None
        found = arithmetic_result(inner, INT)
        return None if found is None else Typed(found)

    def _pointer(self, node: Node, function: int, depth: int) -> Typed | None:
        operator = node.child_by_field_name("operator")
        inner = self.typed(node.child_by_field_name("argument"), function, depth)
        if operator is None or inner is None:
            return None
        if operator.type == "&":
            return Typed(inner.type.address)
        return self._variable(inner.type.pointee) if inner.type.pointer else None

    def _subscript(self, node: Node, function: int, depth: int) -> Typed | None:
        array = self.type(node.child_by_field_name("argument"), function, depth)
        return self._variable(array.pointee) if array is not None and array.pointer else None

    def _field(self, node: Node, function: int, depth: int) -> Typed | None:
        argument = self.typed(node.child_by_field_name("argument"), function, depth)
        field, operator = node.child_by_field_name("field"), node.child_by_field_name("operator")
        if argument is None or field is None or field.type != "field_identifier":
            return None
        object_ = argument.type
        if operator is not None and operator.type == "->":
            object_ = object_.pointee if object_.pointer else Type("")
        return self._variable(self.book.member(object_, self.findings.span(field)))

    def _cast(self, node: Node, function: int, depth: int) -> Typed | None:
        kind = node.child_by_field_name("type")
        type_ = None if kind is None else self.book.read(self.findings.span(kind))
        return None if type_ is None else Typed(type_.value)

    def _conditional(self, node: Node, function: int, depth: int) -> Typed | None:
        one = self.type(node.child_by_field_name("consequence"), function, depth)
        other = self.type(node.child_by_field_name("alternative"), function, depth)
        if one is None or other is None:
            return None
        found = one if one == other else arithmetic_result(one, other)
        return None if found is None else Typed(found)

    def _written(self, node: Node, function: int, depth: int) -> Typed | None:
        field = "left" if node.type == "assignment_expression" else "argument"
        found = self.type(node.child_by_field_name(field), function, depth)
        return None if found is None else Typed(found)

    def _call(self, node: Node, function: int, depth: int) -> Typed | None:
        called = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        arguments = listed.named_children if listed is not None else []
        if called is None:
            return None
        name = self.findings.span(called)
        if called.type == "primitive_type":
            type_ = self.book.read(name)
        elif called.type == "template_function":
            type_ = self._named_cast(called)
        elif name in self.findings.macros.names:
            type_ = None
        else:
            types = [self.type(argument, function, depth) for argument in arguments]
            meant = next(self.scope.visible(name, node.start_byte, function), None)
            if meant is None:
                type_ = _of_library(name, types) or self.book.result_of_included(name, types)
            else:
                type_ = self.book.result(name, types) if meant.type == "function" else None
        return None if type_ is None else Typed(type_.value)

    def _named_cast(self, called: Node) -> Type | None:
        name = called.child_by_field_name("name")
        arguments = called.child_by_field_name("arguments")
        if name is None or arguments is None or self.findings.span(name) not in _CASTS:
            return None
        return self.book.read(self.findings.span(arguments)[1:-1])

    def _sizeof(self, node: Node, function: int, depth: int) -> Typed | None:
        return Typed(Type("unsigned long"))

    def _truth(self, node: Node, function: int, depth: int) -> Typed | None:
        return Typed(BOOL)

    def _character(self, node: Node, function: int, depth: int) -> Typed | None:
        return Typed(Type("char")) if self.findings.span(node).startswith("'") else None


def _of_library(name: str, types: Sequence[Type | None]) -> Type | None:
    """Return the result type of a CUDA library function for arguments of these types."""
    if _OF_FLOAT.fullmatch(name):
        return _FLOAT
    if _OF_INT.fullmatch(name):
        return INT
    if _OF_UNSIGNED.fullmatch(name):
        return _UNSIGNED
    if name in ("min", "max") and len(types) == 2:
        one, other = types
        return None if one is None or other is None else arithmetic_result(one, other)
    if _OF_POINTEE.fullmatch(name) and types and types[0] is not None and types[0].pointer:
        return types[0].pointee
    if _OF_SECOND.fullmatch(name) and len(types) > 1 and types[1] is not None:
        return types[1]
    return None


def _builtin(name: str) -> Typed | None:
    if name == "warpSize":
        return Typed(Type("int", (), True))
    type_ = _BUILTIN_OBJECTS.get(name)
    return None if type_ is None else Typed(type_)


def _of_pointers(operator: str, left: Type, right: Type) -> Type | None:
    if operator == "+" and left.pointer != right.pointer:
        return left if left.pointer else right
    if operator == "-" and left.pointer:
        return Type("long") if right.pointer else left
    return None


_Reader = Callable[[Inference, Node, int, int], Typed | None]

_READERS: dict[str, _Reader] = {
    "identifier": Inference._name,
    "number_literal": Inference._number,
    "char_literal": Inference._character,
    "true": Inference._truth,
    "false": Inference._truth,
    "parenthesized_expression": Inference._inner,
    "binary_expression": Inference._binary,
    "unary_expression": Inference._unary,
    "pointer_expression": Inference._pointer,
    "subscript_expression": Inference._subscript,
    "field_expression": Inference._field,
    "cast_expression": Inference._cast,
    "conditional_expression": Inference._conditional,
    "assignment_expression": Inference._written,
    "update_expression": Inference._written,
    "call_expression": Inference._call,
    "sizeof_expression": Inference._sizeof,
}
