"""Texture objects that a kernel gets, and what it fetches from them, as far as its text tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.file import Argument, CudaFile, signature, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.grammar.frontends.cuda.syntax import name_node
from gi_cuda.init.access import Access
from gi_cuda.init.buffers import ProposedBuffer

_OBJECT = "cudaTextureObject_t"
_FETCH = re.compile(r"(?:::)?tex1Dfetch\s*(?:<(?P<type>[^()]*)>)?")
_COMPONENTS = (1, 2, 4)
_WIDEST = 4
"""Bytes of the largest component that a texture can hold."""


def is_texture(types: ElementTypes, argument: Argument) -> bool:
    """Whether a kernel's parameter is a texture object."""
    plain = not argument.pointers and not argument.reference
    return plain and types.resolved(argument.type) == _OBJECT


def memory_of(
    code: CudaFile, function: Definition, name: str, types: ElementTypes, taken: Collection[str]
) -> ProposedBuffer:
    """The input that lies behind a texture object, of the type that is fetched from it.

    Args:
        function: the kernel.
        name: of its parameter.
        taken: names that other parameters have.
    """
    found = next(_Fetches(code, types).of(function, name), None)
    buffer = f"{name}_data"
    while buffer in taken:
        buffer += "_"
    return ProposedBuffer(
        buffer,
        found or Element("float32"),
        "input",
        Access.READ if found else Access.NONE,
        f"memory of the texture {name}",
        texture=name,
    )


class _Fetches:
    """Looks for fetches in a function, in macros, and in the functions that get the object."""

    def __init__(self, code: CudaFile, types: ElementTypes) -> None:
        self._code, self._types = code, types
        self._seen: set[tuple[int, str]] = set()

    def of(self, function: Definition, name: str) -> Iterator[Element]:
        """What is fetched from the texture that a name stands for."""
        key = (function.node.start_byte, name)
        body = function.node.child_by_field_name("body")
        if body is None or key in self._seen:
            return
        self._seen.add(key)
        for node in walk(body):
            if node.type == "call_expression":
                yield from self._call(node, name, body)
            elif (copy := self._copy(node, name)) is not None:
                yield from self.of(function, copy)

    def _copy(self, node: Node, name: str) -> str | None:
        """The local that the object is copied to, perhaps one object of two."""
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        target = name_node(node.child_by_field_name("declarator")) if value is not None else None
        if value is None or target is None:
            return None
        names = ("consequence", "alternative") if value.type == "conditional_expression" else ()
        sides = [value, *filter(None, map(value.child_by_field_name, names))]
        return self._code.of(target) if name in map(self._code.of, sides) else None

    def _call(self, node: Node, name: str, body: Node) -> Iterator[Element]:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None:
            return
        passed = [child for child in given.named_children if child.type != "comment"]
        places = [n for n, one in enumerate(passed) if self._code.of(one) == name]
        own = self._code.of(called)
        if fetch := _FETCH.fullmatch(own.strip()):
            if places == [0] and fetch["type"]:
                yield from self._fetched(fetch["type"])
            elif places == [1]:
                yield from self._fetched(self._declared(passed[0], body))
            return
        short = own.partition("<")[0].rpartition("::")[2].strip()
        if short in self._code.macros:
            yield from self._macro(short, places)
            return
        definition = self._code.function(short)
        parameters = [] if definition is None else list(signature(self._code, definition))
        for place in places:
            if definition is not None and place < len(parameters) and parameters[place].name:
                yield from self.of(definition, parameters[place].name)

    def _macro(self, name: str, places: list[int]) -> Iterator[Element]:
        """What a macro fetches that is given the texture."""
        macro = self._code.macros[name]
        for place in places:
            if macro.parameters is not None and place < len(macro.parameters):
                inside = rf"tex1Dfetch\s*<([^()<>]*)>\s*\(\s*{macro.parameters[place]}\s*,"
                for found in re.finditer(inside, macro.body):
                    yield from self._fetched(found[1])

    def _fetched(self, kind: str) -> Iterator[Element]:
        element = self._types.element(kind) if kind else None
        holds = element is not None and not element.fields and element.parts in _COMPONENTS
        if element is not None and holds and element.bytes <= _WIDEST * element.parts:
            yield element

    def _declared(self, pointer: Node, body: Node) -> str:
        """The type of the local whose address is taken; "" if there is none such."""
        wanted = self._code.of(pointer).lstrip("& (").rstrip(" )")
        for node in walk(body):
            kind = node.child_by_field_name("type") if node.type == "declaration" else None
            if kind is None:
                continue
            names = map(name_node, node.children_by_field_name("declarator"))
            if wanted in [self._code.of(name) for name in names if name is not None]:
                return self._code.of(kind)
        return ""
