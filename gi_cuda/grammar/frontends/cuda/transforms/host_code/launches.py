"""Finder of kernel launches in a source: ``k<<<grid, block>>>(...)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.functions import (
    HostFunction,
    Span,
    Variable,
    values_of,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.kinds import HostKinds, Kind

_LAUNCHES = re.compile(r"\s*(?:<(?!<)[^;{}]*?>)?\s*<<<")
_ASKS = re.compile(r"cuda(?:Func|Occupancy)\w*")
"""Functions that take a kernel as an argument and do not launch it."""

_NAMES = frozenset({"template_function", "qualified_identifier"})
_DECLARES = frozenset({"function_declarator", "template_instantiation", "using_declaration"})
_INDIRECT = frozenset({"cast_expression", "pointer_expression", "parenthesized_expression"})
_OTHER = frozenset({"field_identifier", "type_identifier", "namespace_identifier"})
_PLAIN = frozenset({"identifier", "field_expression", "subscript_expression"})


class UnknownLaunch(Exception):
    """A kernel with a launch that is not understood, or without any launch."""


@dataclass(frozen=True, slots=True)
class Extents:
    """The grid or the block of a launch.

    Attributes:
        span: the argument.
        kind: the kind of its value.
        values: the spans of its parts, where the argument holds them: two of ``dim3(a, b)``.
        variable: the local variable or parameter that is the argument.
        use: the offset of its name.
    """

    span: Span
    kind: Kind
    values: tuple[Span, ...] | None = None
    variable: Variable | None = None
    use: int = -1


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel.

    Attributes:
        function: the function that it stands in.
        grid, block: as written.
    """

    function: HostFunction
    grid: Extents
    block: Extents


class LaunchReader:
    """Finds and reads launches.

    Args:
        code: the source.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        self._kinds = HostKinds(code)
        self._functions: dict[int, HostFunction] = {}
        self._bare = code.bare(code.root)

    def launches(self, kernel: str) -> tuple[Launch, ...]:
        """Return all launches of a kernel.

        Raises:
            UnknownLaunch: there is none, or the kernel may be launched in another way too.
        """
        definitions = [one for one in self._code.kernels if one.name == kernel]
        macros = (one for several in self._code.macros.values() for one in several)
        if len(definitions) > 1 or any(kernel in one.free_names for one in macros):
            raise UnknownLaunch
        found = [self._launch(node) for node in self._calls(kernel)]
        if not found:
            raise UnknownLaunch
        return tuple(found)

    def _calls(self, kernel: str) -> Iterator[Node]:
        """Return the calls that launch a kernel.

        Raises:
            UnknownLaunch: the kernel is used in another way.
        """
        root = self._code.root
        for match in re.finditer(rf"\b{kernel}\b", self._bare):
            at = match.start() + root.start_byte
            node = root.descendant_for_byte_range(at, at + len(kernel))
            if node is None or self._code.span(node) != kernel:
                if _LAUNCHES.match(self._bare, match.end()):
                    raise UnknownLaunch
                continue
            call = self._use(node)
            if call is not None:
                yield call

    def _use(self, name: Node) -> Node | None:
        """Return the launch that a kernel's name stands in.

        None where the kernel is declared or asked about, or the name is that of something else.

        Raises:
            UnknownLaunch: the name is used in another way.
        """
        node = name
        while node.parent is not None and node.parent.type in _NAMES:
            node = node.parent
        above = node.parent
        if above is None or name.type in _OTHER or above.type in _DECLARES:
            return None
        if above.type == "call_expression" and any(
            one.type == "kernel_call_syntax" for one in above.children
        ):
            return above
        if above.type == "call_expression" and above.child_by_field_name("function") == node:
            return None
        function = self._function(node)
        if function is not None and function.find(self._code.span(name), name.start_byte):
            return None
        while above is not None and above.type in _INDIRECT:
            above = above.parent
        call = above.parent if above is not None and above.type == "argument_list" else None
        called = None if call is None else call.child_by_field_name("function")
        if called is not None and _ASKS.match(self._code.span(called).rpartition("::")[2]):
            return None
        raise UnknownLaunch

    def _function(self, node: Node) -> HostFunction | None:
        """Return the function that a node stands in; of nested ones the outermost."""
        found, above = None, node.parent
        while above is not None:
            found = above if above.type == "function_definition" else found
            above = above.parent
        if found is None:
            return None
        if found.id not in self._functions:
            self._functions[found.id] = HostFunction(self._code, self._kinds, found)
        return self._functions[found.id]

    def _launch(self, call: Node) -> Launch:
        """Read a launch.

        Raises:
            UnknownLaunch: its grid or block is not understood.
        """
        syntax = next(one for one in call.children if one.type == "kernel_call_syntax")
        given, function = parts(syntax), self._function(call)
        if function is None or len(given) < 2 or syntax.has_error:
            raise UnknownLaunch
        return Launch(function, *(self._extents(function, one) for one in given[:2]))

    def _extents(self, function: HostFunction, node: Node) -> Extents:
        """Read a grid or a block.

        Raises:
            UnknownLaunch: the type of the expression is not certain, or it has to be built anew of
                an expression that is more than a name.
        """
        span = (node.start_byte, node.end_byte)
        inner = node
        while inner.type == "parenthesized_expression" and len(parts(inner)) == 1:
            inner = parts(inner)[0]
        kind = function.kind(self._code.span(inner), inner.start_byte)
        if kind is None:
            raise UnknownLaunch
        values = values_of(inner)
        if values != ((inner.start_byte, inner.end_byte),):
            kinds = {function.kind(function.text(one), one[0]) for one in values}
            if kinds == {Kind.NUMBER}:
                return Extents(span, Kind.DIM3, values)
            inner = self._only(inner, values, kinds)
        if inner.type == "identifier":
            name = self._code.span(inner)
            variable = function.find(name, inner.start_byte)
            if variable is not None:
                return Extents(span, variable.kind or kind, None, variable, inner.start_byte)
        if kind is Kind.DIM3 and inner.type not in _PLAIN:
            raise UnknownLaunch
        return Extents(span, kind, values if kind is Kind.NUMBER else None)

    def _only(self, node: Node, values: tuple[Span, ...], kinds: set[Kind | None]) -> Node:
        """Return the ``dim3`` that is copied by ``dim3(grid)``."""
        inner = node.descendant_for_byte_range(*values[0]) if len(values) == 1 else None
        if inner is None or kinds != {Kind.DIM3} or inner.type != "identifier":
            raise UnknownLaunch
        return inner
