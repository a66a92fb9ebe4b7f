"""Translate expressions of host code to expressions of a target, local variables substituted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.constants import LONGEST
from gi_cuda.grammar.frontends.cuda.declarations.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import first_macro
from gi_cuda.init.host.host import (
    HostCode,
    KnownNames,
    enclosing_function,
    function_name,
    is_name,
    parameters,
    passed,
    template_names,
    without_casts,
)
from gi_cuda.init.host.host_extents import DEPTH, LISTS, extent_of, named_extent
from gi_cuda.init.host.host_operations import value_of_call, value_of_operator
from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.kernel.sizes import bare, bracketed, operand_of_sizeof
from gi_cuda.spec.expression import ExpressionError
from gi_cuda.spec.expression import parse as parse_expression

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_REAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_UNSCOPED = re.compile(r"(?<!::)\b[A-Za-z_]\w*")

_CALLERS = 3
"""Largest number of callers upward in which arguments are looked up."""


class Resolver:
    """Translator of the expressions that are visible at a launch to expressions of a target.

    Args:
        host: the file with the launch.
        at: the launch.
        types: element types of the source.
        known: names that expressions may keep.
    """

    def __init__(self, host: HostCode, at: Node, types: ElementTypes, known: KnownNames) -> None:
        self._host, self._codes, self.code, self._types = host, host.codes, host.code, types
        self._known = known
        self.locals = host.before(at, starts=known.starts)
        self._function = enclosing_function(at)
        # Cache by name and depth, so that mutual references are resolved in linear time.
        self._names: dict[tuple[str, int], str | None] = {}
        self._extents: dict[tuple[str, int], tuple[str, ...] | None] = {}

    @cached_property
    def caller(self) -> tuple[Resolver, Node] | None:
        """Return the first call of the enclosing function, and a resolver for that place; None if
        unknown.
        """
        name = function_name(self.code, self._function)
        if not name or self._known.callers >= _CALLERS:
            return None
        calls = self._host.calls.get(name, ())
        call = next((one for one in calls if enclosing_function(one) != self._function), None)
        if call is None:
            return None
        scalars = {
            self.code.of(given).strip(): self._known.scalars[parameter]
            for parameter, given in passed(self.code, self._function, call).items()
            if parameter in self._known.scalars and is_name(given)
        }
        known = replace(self._known, scalars=scalars, callers=self._known.callers + 1)
        return Resolver(self._host, call, self._types, known), call

    def passed(self, name: str) -> tuple[Resolver, Node] | None:
        """Return the argument that the caller passes for a parameter, and a resolver for the
        caller.

        None if `name` is not a parameter, is assigned in the function, or no caller is known.
        """
        if name not in parameters(self.code, self._function) or name in self.locals.values:
            return None
        caller = self.caller
        if caller is None:
            return None
        given = passed(self.code, self._function, caller[1]).get(name)
        return None if given is None else (caller[0], given)

    def _template(self, name: str) -> str | None:
        """Return the argument for a template parameter of the function, from its first call."""
        names = template_names(self.code, self._function)
        if name not in names:
            return None
        caller = self.caller
        if caller is None:
            return None
        called = caller[1].child_by_field_name("function")
        given = list(caller[0].template_arguments(called))
        index = names.index(name)
        return given[index] if index < len(given) else self._deduced(name, *caller)

    def _deduced(self, name: str, caller: Resolver, call: Node) -> str | None:
        """Deduce a template argument that a call leaves out from the arguments that it passes."""
        own, theirs = self.locals, caller.locals
        for parameter, given in passed(self.code, self._function, call).items():
            stars = theirs.pointers.get(caller.code.of(given))
            if own.declared.get(parameter) == name and own.pointers.get(parameter) == stars:
                return caller.declared_type(given)
        return None

    def template_arguments(self, called: Node | None) -> Iterator[str]:
        """Yield the arguments of ``blur<float, 3>``, with constants evaluated."""
        while called is not None and called.type != "template_function":
            called = called.child_by_field_name("name")
        listed = None if called is None else called.child_by_field_name("arguments")
        for node in listed.named_children if listed is not None else ():
            own = self.code.of(node).strip()
            # The parser takes a single name for a type.
            text = self._name(own, 0) if own.isidentifier() else self.expression(node)
            yield text or self._type(own)

    def _type(self, text: str, depth: int = 0) -> str:
        """Return a type with aliases and template parameters of the function resolved."""

        def meant(match: re.Match[str]) -> str:
            alias = self.locals.aliases.get(match[0]) if depth < DEPTH else None
            if alias is not None:
                return self._type(alias, depth + 1)
            return self._template(match[0]) or match[0]

        found = _UNSCOPED.sub(meant, text)
        return found if len(found) <= LONGEST else text

    def bytes(self, node: Node) -> str | None:
        """Return the expression for the bytes that are allocated for a pointer; None if unknown."""
        name = self.code.of(node)
        size = self.locals.allocated.get(name)
        if size is not None:
            return self.expression(size)
        passed = self.passed(name)
        return None if passed is None else passed[0].bytes(passed[1])

    def origin(self, node: Node) -> str:
        """Return the text of an argument as the outermost known caller writes it."""
        node = without_casts(node)
        own = " ".join(self.code.of(node).split())
        passed = self.passed(own) if node.type == "identifier" else None
        return own if passed is None else passed[0].origin(passed[1])

    def other_names(self, name: str) -> Iterator[str]:
        """Yield the variable that `name` is set to, then the one that this is set to, and so on."""
        for _ in range(DEPTH):
            value = self.value(name)
            if value is None or without_casts(value).type != "identifier":
                return
            name = self.code.of(without_casts(value))
            yield name

    def made_from_others(self, node: Node) -> str | None:
        """Return the expression that a local variable is computed from, or that a node is; None if
        unknown.
        """
        if node.type != "identifier":
            return self.expression(node)
        value = self.value(self.code.of(node))
        return None if value is None else self.expression(value)

    def declared_type(self, node: Node) -> str | None:
        """Return the declared type of a variable; None if unknown."""
        if node.type != "identifier":
            return None
        declared = self.locals.declared.get(self.code.of(node))
        return None if declared is None else self._type(declared)

    def number(self, node: Node, depth: int = 0) -> int | float | None:
        """Return the value of a constant expression; None if it is not constant."""
        if depth > DEPTH:
            return None
        text = self.expression(node)
        if text is not None:
            try:
                return parse_expression(text).evaluate({})
            except ExpressionError:
                return None
        shown = self.code.of(node).strip()
        named = node.type in ("identifier", "field_expression")
        if named and (value := self.value(shown)) is not None:
            return self.number(value, depth + 1)
        if node.type == "identifier" and (passed := self.passed(shown)) is not None:
            return passed[0].number(passed[1], depth + 1)
        return _real(shown)

    def number_of(self, name: str) -> int | float | None:
        """Return the number that a variable or a member is set to; None if unknown."""
        value, (whole, _, path) = self.value(name), name.partition(".")
        if value is None and path and (caller := self.passed(whole)) is not None:
            return caller[0].number_of(f"{self.code.of(caller[1]).strip()}.{path}")
        return None if value is None else self.number(value)

    def extent(self, node: Node, depth: int = 0) -> tuple[str, ...] | None:
        """Return the one to three expressions of a grid or a block (a ``dim3`` or a number), or
        None.
        """
        if depth > DEPTH:
            return None
        if node.type != "identifier":
            return extent_of(self, node, depth)
        key = self.code.of(node).strip(), depth
        if key not in self._extents:
            self._extents[key] = named_extent(self, node, depth)
        return self._extents[key]

    def scalar(self, name: str) -> str | None:
        """Return the kernel's scalar that a variable is passed for, or None."""
        return self._known.scalars.get(name)

    def expression(self, node: Node, depth: int = 0) -> str | None:
        """Return a node as an integer expression over scalars and parameters; None if it is not
        one.
        """
        text = None if depth > DEPTH else self._expression(node, depth)
        return None if text is None or len(text) > LONGEST else text

    def _expression(self, node: Node, depth: int) -> str | None:
        kind, own = node.type, self.code.of(node).strip()
        if (scalar := self.scalar(own)) is not None:
            return scalar
        if kind == "number_literal":
            match = _INTEGER.fullmatch(own)
            return match[1] if match else None
        if kind == "parameter_declaration":
            return self._like_a_parameter(node, depth)
        if kind in ("identifier", "qualified_identifier"):
            return self._name(own.rpartition("::")[2], depth)
        if kind == "field_expression":
            return self._component(node, depth)
        if kind == "parenthesized_expression":
            inner = self.expression(node.named_children[0], depth + 1)
            return None if inner is None else bracketed(inner)
        if kind == "cast_expression":
            value = node.child_by_field_name("value")
            return None if value is None else self.expression(value, depth + 1)
        if kind == "binary_expression":
            return value_of_operator(node, lambda one: self.expression(one, depth + 1))
        if kind == "conditional_expression":
            return self._conditional(node, depth)
        if kind == "sizeof_expression":
            return self._size(node)
        if kind == "call_expression":
            return value_of_call(self._host, node, lambda one: self.expression(one, depth + 1))
        if kind in LISTS and len(node.named_children) == 1:
            return self.expression(node.named_children[0], depth + 1)
        return None

    def _name(self, name: str, depth: int) -> str | None:
        key = name, depth
        if key not in self._names:
            self._names[key] = self._named(name, depth)
        return self._names[key]

    def _named(self, name: str, depth: int) -> str | None:
        """Return the expression that a name stands for; None if unknown."""
        if name in self._known.scalars:
            return self._known.scalars[name]
        if name in self._known.kept:
            return name
        macro = first_macro(self._codes, name)
        if macro is not None:
            return self._text(macro.body, depth) if macro.parameters is None else None
        value = self.value(name)
        text = None if value is None else self.expression(value, depth + 1)
        if text is None and name not in self.locals.values:
            text = self._from_outside(name, depth)
        if text is None or (self._known.free and _is_zero(text)):
            unknown = self._known.free or (self._known.own and is_count_name(name, compared=False))
            return name if unknown and self._is_whole(name) else None
        return bracketed(text)

    def _from_outside(self, name: str, depth: int) -> str | None:
        """Return the expression of a name that the function does not set: a constant or an
        argument.
        """
        if name in self._host.constants and name not in self.locals.declared:
            return self._text(self._host.constants[name], depth + 1)
        passed = self.passed(name)
        if passed is not None:
            return passed[0].expression(passed[1], depth + 1)
        given = self._template(name)
        return given if given is not None and _INTEGER.fullmatch(given) else None

    def _conditional(self, node: Node, depth: int) -> str | None:
        names = ("condition", "consequence", "alternative")
        parts = [node.child_by_field_name(name) for name in names]
        a, b, c = (None if p is None else self.expression(p, depth + 1) for p in parts)
        if a is not None and b is not None and c is not None:
            return f"({a} ? {b} : {c})"
        return (b or c) if self._known.free else None

    def _is_whole(self, name: str) -> bool:
        """Tell whether a variable is a single integer."""
        declared = self.locals.declared.get(name, "")
        element = self._types.element(declared)
        whole = element is not None and "int" in element.type and element.parts == 1
        return (whole or declared == "auto") and not self.locals.pointers.get(name)

    def value(self, name: str) -> Node | None:
        """Return the value that a variable or a member is set to; None if it has not exactly one.

        With ``free`` names, return its first known value.
        """
        values = self.locals.values.get(name, [])
        if self._known.free:
            return next((value for value in values if value is not None), None)
        return values[0] if len(values) == 1 else None

    def _text(self, body: str, depth: int) -> str | None:
        """Return the expression that the body of a macro stands for."""
        if depth > DEPTH or not re.fullmatch(r"[\w\s()+\-*/%<>&|^]+", body):
            return None
        for word in set(re.findall(r"[A-Za-z_]\w*", body)):
            inner = self._name(word, depth + 1)
            if inner is None:
                return None
            body = re.sub(rf"\b{word}\b", lambda _, text=inner: text, body)  # type: ignore[misc]
            if len(body) > LONGEST:
                return None
        try:
            parse_expression(_INTEGER.sub(r"\1", body))
        except ExpressionError:
            return None
        return bracketed(_INTEGER.sub(r"\1", body))

    def _component(self, node: Node, depth: int) -> str | None:
        """Return the expression of ``block.x`` for a known ``dim3``."""
        base, part = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if base is None or part is None or self.code.of(part) not in "xyz":
            return None
        member = self.value(self.code.of(node))
        if member is not None:
            return self.expression(member, depth + 1)
        extent = self.extent(base, depth + 1) if base.type == "identifier" else None
        index = "xyz".index(self.code.of(part))
        if extent is None:
            return None
        return bracketed(extent[index]) if index < len(extent) else "1"

    def _like_a_parameter(self, node: Node, depth: int) -> str | None:
        """Return the expression of an argument that parses as a parameter.

        The parser takes ``dim3 grid(a, b * c);`` for a prototype whose second parameter is a
        pointer.
        """
        kind, declared = (node.child_by_field_name(one) for one in ("type", "declarator"))
        factors = [kind]
        if declared is not None:
            if declared.type != "pointer_declarator":
                return None
            factors.append(declared.child_by_field_name("declarator"))
        texts = [
            None if one is None else self._name(self.code.of(one).rpartition("::")[2], depth)
            for one in factors
        ]
        known = [text for text in texts if text is not None]
        return " * ".join(known) if len(known) == len(texts) else None

    def _size(self, node: Node) -> str | None:
        name, pointed = operand_of_sizeof(self.code.of(node))
        element = self._types.element(self._type(self.locals.declared.get(name, name)))
        if element is None or "*" in name:
            return None
        if self.locals.pointers.get(name, 0) != pointed:
            return None
        return str(element.bytes)


def _real(text: str) -> float | None:
    return float(text.rstrip("fFlL")) if _REAL.fullmatch(text) else None


def _is_zero(text: str) -> bool:
    """Tell whether a value is 0, which no number of a launch is: the variable is set later."""
    return bare(text) == "0"
