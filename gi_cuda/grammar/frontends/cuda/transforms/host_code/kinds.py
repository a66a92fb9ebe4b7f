"""Kinds of expressions of host code: numbers, and the ``dim3`` of a grid or block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property, lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.functions import definitions
from gi_cuda.grammar.frontends.cuda.text.reading import read
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parse, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import AXES, Code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import (
    HEAD,
    expression,
    function,
    is_floating,
    is_integral,
    literal,
)
from gi_cuda.grammar.presence import Macro, read_presence

_ALIAS = r"\btypedef\s+(?P<a>[\w:][\w: ]*?)\s+{0}\s*;|\busing\s+{0}\s*=\s*(?P<b>[\w:][\w: ]*?)\s*;"
_ELEMENTS = re.compile(r"(?:std::)?(?:vector|array)\s*<\s*([\w: ]+?)\s*(?:,[^<>]*)?>")
_NUMBERS = frozenset(
    {"number_literal", "binary_expression", "unary_expression", "sizeof_expression"}
)
_DECLARES = frozenset({"declaration", "field_declaration"})
_DEEPEST = 8


class Kind(Enum):
    """The kind of value that a launch may take for its grid or block."""

    NUMBER = "a number"
    DIM3 = "a dim3"


class HostKinds:
    """The kinds of the names of a source that are not local to a function.

    Args:
        code: the source.
    """

    def __init__(self, code: Code) -> None:
        self._code = code

    def of_type(self, type: str) -> Kind | None:
        """Return the kind of the values of a type; None of other types."""
        type = re.sub(r"\b(?:const|constexpr|static|inline)\b", " ", type)
        for _ in range(_DEEPEST):
            type = " ".join(type.split())
            if type in ("dim3", "struct dim3"):
                return Kind.DIM3
            if is_integral(type) or is_floating(type):
                return Kind.NUMBER
            found = re.search(_ALIAS.format(re.escape(type)), self._bare) if type else None
            if found is None:
                return None
            type = found["a"] or found["b"]
        return None

    def of_elements(self, type: str) -> Kind | None:
        """Return the kind of the elements of an array or vector whose type is declared so."""
        match = _ELEMENTS.fullmatch(type.strip())
        return self.of_type(match[1] if match else type)

    def of_expression(self, text: str, local: Callable[[str], str | None]) -> Kind | None:
        """Return the kind of an expression; None where that is not certain.

        Args:
            local: the type of a local variable as declared, None where there is none of a name.
        """
        node = expression(text)
        return None if node is None else _Reader(self, self._code, text, local, 0).kind(node)

    @cached_property
    def _bare(self) -> str:
        return self._code.bare(self._code.root)

    @cached_property
    def macros(self) -> Mapping[str, Sequence[Macro]]:
        """Return the macros of the source and of the headers that are known, by name."""
        found: dict[str, list[Macro]] = {}
        for text in self._code.source.beside:
            for one in read_presence(text).macros():
                found.setdefault(one.name, []).append(one)
        return found | {name: list(own) for name, own in self._code.macros.items()}

    def constant(self, name: str) -> int | None:
        """Return the number that a macro or constant of the file always is; None of other names."""
        values = [value for own, value in self._constants if own == name]
        values += [
            one.body if one.parameters is None and not one.directive.region else ""
            for one in self.macros.get(name, ())
        ]
        return literal(values[0]) if len(values) == 1 else None

    @cached_property
    def _constants(self) -> tuple[tuple[str, str], ...]:
        """Return the names that are declared outside functions, with the values of constants."""
        roots = (self._code.root, *map(_header, self._code.source.beside))
        return tuple((name, value) for root in roots for name, _, value in _declared(root))

    @cached_property
    def declared(self) -> dict[str, str]:
        """Return the types of variables of the file, of members of classes and of template
        parameters, by name; "" where two of a name differ."""
        found: dict[str, str] = {}
        for root in (self._code.root, *map(_header, self._code.source.beside)):
            for name, type, _ in _declared(root):
                _add(found, name, type)
        return found

    @cached_property
    def returned(self) -> dict[str, str]:
        """Return the types that functions return, by name; "" where two of a name differ."""
        found: dict[str, str] = {}
        for one in definitions(self._code.root, self._code.text, {}):
            type = one.node.child_by_field_name("type")
            _add(found, one.name, "" if type is None else self._code.span(type))
        return found


class _Reader:
    """Reads the kind of one expression."""

    def __init__(
        self,
        kinds: HostKinds,
        code: Code,
        text: str,
        local: Callable[[str], str | None],
        depth: int,
    ) -> None:
        self._kinds = kinds
        self._code = code
        self._text = text
        self._local = local
        self._depth = depth

    def _span(self, node: Node) -> str:
        return self._text[node.start_byte - len(HEAD) : node.end_byte - len(HEAD)]

    def kind(self, node: Node) -> Kind | None:
        """Return the kind of a node of the expression."""
        inner = parts(node)
        if node.type in _NUMBERS:
            return Kind.NUMBER
        if node.type == "parenthesized_expression" and len(inner) == 1:
            return self.kind(inner[0])
        if node.type == "conditional_expression":
            kinds = {self.kind(one) for one in inner[1:]}
            return kinds.pop() if len(kinds) == 1 else None
        if node.type in ("cast_expression", "compound_literal_expression"):
            type = node.child_by_field_name("type")
            return None if type is None else self._kinds.of_type(self._span(type))
        if node.type == "call_expression":
            return self._call(node)
        if node.type == "identifier":
            return self._name(self._span(node))
        if node.type == "qualified_identifier":
            name = self._span(node).rpartition("::")[2].strip()
            return self._kinds.of_type(self._kinds.declared.get(name, ""))
        return self._member(node)

    def _name(self, name: str) -> Kind | None:
        """Return the kind of a variable, parameter, macro or enumerator."""
        type = self._local(name)
        if type is not None:
            return self._kinds.of_type(type)
        if name in self._kinds.macros:
            return self._macro(name)
        return self._kinds.of_type(self._kinds.declared.get(name, ""))

    def _macro(self, name: str) -> Kind | None:
        """Return the kind of a macro's value, if all its definitions have the same kind."""
        kinds = set()
        for macro in self._kinds.macros[name]:
            body = macro.body.strip()
            node = expression(body) if self._depth < _DEEPEST else None
            reader = _Reader(self._kinds, self._code, body, self._local, self._depth + 1)
            kinds.add(None if node is None else reader.kind(node))
        return kinds.pop() if len(kinds) == 1 else None

    def _call(self, node: Node) -> Kind | None:
        called = node.child_by_field_name("function")
        name = "" if called is None else "".join(self._span(called).split())
        if name == "dim3":
            return Kind.DIM3
        if name in self._kinds.macros:
            return self._macro(name)
        if name in self._kinds.returned:
            return self._kinds.of_type(self._kinds.returned[name])
        return Kind.NUMBER if function(name) is not None else None

    def _member(self, node: Node) -> Kind | None:
        """Return the kind of ``grid.x``, ``plan.blocks`` or ``counts[0]``."""
        field, of = node.child_by_field_name("field"), node.child_by_field_name("argument")
        if node.type == "field_expression" and field is not None:
            name = self._span(field)
            if name in AXES:
                return Kind.NUMBER
            return self._kinds.of_type(self._kinds.declared.get(name, ""))
        if node.type == "subscript_expression" and of is not None and of.type == "identifier":
            name = self._span(of)
            type = self._local(name) or self._kinds.declared.get(name, "")
            return self._kinds.of_elements(type)
        return None


def _add(found: dict[str, str], name: str, type: str) -> None:
    found[name] = type if found.get(name, type) == type else ""


@lru_cache(maxsize=64)
def _header(text: str) -> Node:
    return parse(read(text, read_presence(text)).code)


def _declared(root: Node) -> Iterator[tuple[str, str, str]]:
    """Return the names and types of what is declared outside functions, and constants' values."""
    for node in _outside_functions(root):
        type = node.child_by_field_name("type")
        if node.type == "enumerator":
            yield _text(node.child_by_field_name("name")), "int", ""
        elif type is not None and (node.type in _DECLARES or _is_template_parameter(node)):
            constant = any(_text(one) in ("const", "constexpr") for one in node.children)
            for declarator in node.children_by_field_name("declarator"):
                value = declarator.child_by_field_name("value") if constant else None
                yield _text(name_node(declarator)), _text(type), _text(value)


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode("ascii")


def _is_template_parameter(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "template_parameter_list"


def _outside_functions(root: Node) -> list[Node]:
    """Return the nodes of a file that are part of no function's body."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        if node.type != "compound_statement":
            stack.extend(node.named_children)
    return found
