"""Expressions of host code as expressions that a target can hold: locals by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.element_types import ElementTypes
from gi_cuda.grammar.frontends.cuda.file import CudaFile, first_macro, plain_type, walk
from gi_cuda.grammar.frontends.cuda.syntax import name_node
from gi_cuda.init.sizes import bare, bracketed, divided_up, is_count_name
from gi_cuda.spec.expression import ExpressionError
from gi_cuda.spec.expression import parse as parse_expression

_DIVIDED_UP = re.compile(r"(?i)i?div_?(round_?)?up|ceil_?div|div_?ceil|cdiv|.*_?divup|updiv")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_REAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_OPERATORS = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "<<",
        ">>",
        "&",
        "|",
        "^",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
    ]
)
_LISTS = ("argument_list", "initializer_list", "parameter_list")
_ALLOCATORS = frozenset({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"})
_DEPTH = 12


_WHOLE = frozenset(
    {"identifier", "number_literal", "binary_expression", "parenthesized_expression"}
)
"""Expressions whose text can stand as an operand where they stood as one."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What stands for itself in the expressions that are read.

    Attributes:
        scalars: what the host code passes for a scalar of the kernel, and that scalar's name.
        kept: macros and constants that stay names.
        own: whether numbers that nobody can tell, and whose names say how much data there is, do.
        starts: whether a variable of a loop is what it is at first, instead of unknown.
    """

    scalars: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    own: bool = False
    starts: bool = False


class Resolver:
    """Turns expressions of the host code before a launch into a target's.

    Args:
        codes: the source, then its headers.
        at: the launch.
    """

    def __init__(
        self, codes: Sequence[CudaFile], at: Node, types: ElementTypes, known: KnownNames
    ) -> None:
        self._codes, self._code, self._types = codes, codes[0], types
        self._known = known
        self._values: dict[str, list[Node]] = {}
        self._declared: dict[str, str] = {}
        self._pointers: dict[str, int] = {}
        self._allocated: dict[str, Node] = {}
        function: Node | None = at
        while function is not None and function.type != "function_definition":
            function = function.parent
        for child in self._code.root.children:
            if child.type == "declaration":
                self._note(child)
        for node in walk(function) if function is not None else ():
            if node.start_byte < at.start_byte:
                self._note(node)

    def _note(self, node: Node) -> None:
        if node.type in ("declaration", "parameter_declaration"):
            kind = node.child_by_field_name("type")
            for one in node.children_by_field_name("declarator"):
                name = name_node(one)
                if name is None:
                    continue
                self._values.pop(self._code.of(name), None)
                if kind is not None:
                    self._declared[self._code.of(name)] = plain_type(self._code.of(kind))
                    self._pointers[self._code.of(name)] = _depth(one, name)
                value = one.child_by_field_name("value")
                if one.type == "function_declarator":
                    # ``dim3 block(BLOCK_X, BLOCK_Y);`` reads like a prototype.
                    value = one.child_by_field_name("parameters")
                if value is not None:
                    self._values.setdefault(self._code.of(name), []).append(value)
        elif node.type == "call_expression":
            self._note_call(node)
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            stepped = self._known.starts and _in_header(node)
            if left is not None and right is not None and not stepped:
                # Set more than once, perhaps conditionally: nobody knows to what.
                self._values.setdefault(self._code.of(left), []).append(right)

    def _note_call(self, node: Node) -> None:
        """Remember what is allocated."""
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None or len(given.named_children) < 2:
            return
        if self._code.of(called).partition("<")[0] in _ALLOCATORS:
            pointer, size = given.named_children[:2]
            for inner in walk(pointer):
                if inner.type == "identifier":
                    self._allocated[self._code.of(inner)] = size

    def template_arguments(self, called: Node | None) -> Iterator[str]:
        """The arguments of ``blur<float, 3>``, constants by their values."""
        while called is not None and called.type != "template_function":
            called = called.child_by_field_name("name")
        listed = None if called is None else called.child_by_field_name("arguments")
        for node in listed.named_children if listed is not None else ():
            own = self._code.of(node).strip()
            # A name alone is read as a type.
            text = self._name(own, 0) if own.isidentifier() else self.expression(node)
            yield text or own

    def bytes(self, node: Node) -> str | None:
        """The bytes that are allocated for a pointer."""
        size = self._allocated.get(self._code.of(node))
        return None if size is None else self.expression(size)

    def made_from_others(self, node: Node) -> str | None:
        """What a local, or an expression, is computed from; None for a plain name of its own."""
        if node.type != "identifier":
            return self.expression(node)
        value = self._value(self._code.of(node))
        return None if value is None else self.expression(value)

    def declared_type(self, node: Node) -> str | None:
        """The type that a name is declared with."""
        return self._declared.get(self._code.of(node)) if node.type == "identifier" else None

    def number(self, node: Node) -> int | float | None:
        """The value of a constant."""
        text = self.expression(node)
        if text is not None:
            try:
                return parse_expression(text).evaluate({})
            except ExpressionError:
                return None
        if node.type == "identifier" and (value := self._value(self._code.of(node))) is not None:
            return self.number(value)
        shown = self._code.of(node).strip()
        if node.type == "identifier" and (macro := first_macro(self._codes, shown)) is not None:
            shown = macro.body
        return float(shown.rstrip("fFlL")) if _REAL.fullmatch(shown) else None

    def extent(self, node: Node, depth: int = 0) -> tuple[str, ...] | None:
        """A grid or a block: a ``dim3``, or a number."""
        if node.type == "identifier" and depth < _DEPTH:
            value = self._value(self._code.of(node))
            if value is not None and self._declared.get(self._code.of(node)) in ("dim3", "auto"):
                return self.extent(value, depth + 1)
        if node.type == "call_expression":
            called, given = (
                node.child_by_field_name("function"),
                node.child_by_field_name("arguments"),
            )
            if called is not None and given is not None and self._code.of(called) == "dim3":
                return self.extent(given, depth + 1)
        if node.type in _LISTS:
            parts = [self.expression(child) for child in node.named_children]
            known = tuple(bare(part) for part in parts if part is not None)
            return known if len(known) == len(parts) and 1 <= len(parts) <= 3 else None
        text = self.expression(node)
        return None if text is None else (bare(text),)

    def expression(self, node: Node, depth: int = 0) -> str | None:
        """An integer expression over scalars and parameters, None if it is none."""
        if depth > _DEPTH:
            return None
        kind, own = node.type, self._code.of(node).strip()
        if own in self._known.scalars:
            return self._known.scalars[own]
        if kind == "number_literal":
            match = _INTEGER.fullmatch(own)
            return match[1] if match else None
        if kind in ("identifier", "parameter_declaration"):
            return self._name(own, depth)
        if kind == "field_expression":
            return self._component(node, depth)
        if kind == "parenthesized_expression":
            inner = self.expression(node.named_children[0], depth + 1)
            return None if inner is None else bracketed(inner)
        if kind == "cast_expression":
            value = node.child_by_field_name("value")
            return None if value is None else self.expression(value, depth + 1)
        if kind == "binary_expression":
            return self._binary(node, depth)
        if kind == "conditional_expression":
            names = ("condition", "consequence", "alternative")
            parts = [node.child_by_field_name(name) for name in names]
            texts = [None if p is None else self.expression(p, depth + 1) for p in parts]
            a, b, c = texts
            return None if a is None or b is None or c is None else f"({a} ? {b} : {c})"
        if kind == "sizeof_expression":
            return self._size(node)
        if kind == "call_expression":
            return self._call(node, depth)
        if kind in _LISTS and len(node.named_children) == 1:
            return self.expression(node.named_children[0], depth + 1)
        return None

    def _name(self, name: str, depth: int) -> str | None:
        if name in self._known.scalars:
            return self._known.scalars[name]
        if name in self._known.kept:
            return name
        macro = first_macro(self._codes, name)
        if macro is not None:
            return self._text(macro.body, depth) if macro.parameters is None else None
        value = self._value(name)
        text = None if value is None else self.expression(value, depth + 1)
        if text is None:
            return name if self._known.own and self._counts(name) else None
        return bracketed(text)

    def _counts(self, name: str) -> bool:
        """Whether a variable is a whole number that says how much data there is."""
        element = self._types.element(self._declared.get(name, ""))
        whole = element is not None and "int" in element.type and element.parts == 1
        return whole and not self._pointers.get(name) and is_count_name(name, compared=False)

    def _value(self, name: str) -> Node | None:
        values = self._values.get(name, [])
        return values[0] if len(values) == 1 else None

    def _text(self, body: str, depth: int) -> str | None:
        """What the text of a macro stands for."""
        if depth > _DEPTH or not re.fullmatch(r"[\w\s()+\-*/%<>&|^]+", body):
            return None
        for word in set(re.findall(r"[A-Za-z_]\w*", body)):
            inner = self._name(word, depth + 1)
            if inner is None:
                return None
            body = re.sub(rf"\b{word}\b", lambda _, text=inner: text, body)  # type: ignore[misc]
        try:
            parse_expression(_INTEGER.sub(r"\1", body))
        except ExpressionError:
            return None
        return bracketed(_INTEGER.sub(r"\1", body))

    def _component(self, node: Node, depth: int) -> str | None:
        """``block.x`` of a ``dim3`` that is known."""
        base, part = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if base is None or part is None or self._code.of(part) not in "xyz":
            return None
        extent = self.extent(base, depth + 1) if base.type == "identifier" else None
        index = "xyz".index(self._code.of(part))
        if extent is None:
            return None
        return bracketed(extent[index]) if index < len(extent) else "1"

    def _binary(self, node: Node, depth: int) -> str | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None or operator.type not in _OPERATORS:
            return None
        a, b = self._operand(left, depth), self._operand(right, depth)
        return None if a is None or b is None else f"{a} {operator.type} {b}"

    def _operand(self, node: Node, depth: int) -> str | None:
        text = self.expression(node, depth + 1)
        return text if text is None or node.type in _WHOLE else bracketed(text)

    def _size(self, node: Node) -> str | None:
        inner = self._code.of(node).partition("sizeof")[2].strip()
        while inner.startswith("(") and inner.endswith(")"):
            inner = inner[1:-1].strip()
        # ``*a`` and ``a[0]`` are what ``a`` points to.
        pointed = re.fullmatch(r"\*\s*(\w+)|(\w+)\s*\[\s*\w+\s*\]", inner)
        name = (pointed[1] or pointed[2]) if pointed else inner
        if self._pointers.get(name, 0) != bool(pointed):
            return None
        element = self._types.element(self._declared.get(name, name))
        return None if element is None or "*" in name else str(element.bytes)

    def _call(self, node: Node, depth: int) -> str | None:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None:
            return None
        name = self._code.of(called).rpartition("::")[2].partition("<")[0]
        nodes = [child for child in given.named_children if child.type != "comment"]
        if name in ("ceil", "ceilf") and len(nodes) == 1:
            return self._ceiling(nodes[0], depth)
        if name.startswith("static_cast") and len(nodes) == 1:
            return self.expression(nodes[0], depth + 1)
        if len(nodes) != 2:
            return None
        a, b = (self.expression(one, depth + 1) for one in nodes)
        if a is None or b is None:
            return None
        a, b = bracketed(a), bracketed(b)
        if name in ("min", "max"):
            return f"({a} {'<' if name == 'min' else '>'} {b} ? {a} : {b})"
        return divided_up(a, b) if _DIVIDED_UP.fullmatch(name) else None

    def _ceiling(self, node: Node, depth: int) -> str | None:
        """``ceil(n / (float)b)`` as a division of integers."""
        while node.type == "parenthesized_expression":
            node = node.named_children[0]
        operator = node.child_by_field_name("operator")
        if node.type != "binary_expression" or operator is None or operator.type != "/":
            return self.expression(node, depth + 1)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        a = self.expression(_without_one(self._code, left), depth + 1)
        b = self.expression(right, depth + 1)
        return None if a is None or b is None else divided_up(a, b)


def _without_one(code: CudaFile, node: Node) -> Node:
    """``n`` of ``1.0 * n`` or ``n * 1.0f``."""
    if node.type == "binary_expression":
        for one, other in (("left", "right"), ("right", "left")):
            factor, rest = node.child_by_field_name(one), node.child_by_field_name(other)
            if factor and rest and re.fullmatch(r"1\.0*[fF]?", code.of(factor)):
                return rest
    return node


def _depth(declarator: Node | None, name: Node) -> int:
    """How many ``*`` or ``[]`` a declaration puts on a name."""
    depth = 0
    while declarator is not None and declarator != name:
        depth += declarator.type in ("pointer_declarator", "array_declarator")
        declarator = declarator.child_by_field_name("declarator")
    return depth


def _in_header(node: Node) -> bool:
    """Whether an assignment is the step of a ``for`` loop."""
    loop = node.parent
    return (
        loop is not None
        and loop.type == "for_statement"
        and (loop.child_by_field_name("update") == node)
    )
