"""Find the ``__device__`` and ``__constant__`` variables of a source that a kernel uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.constants import constant
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, inside_function, walk
from gi_cuda.init.kernel.access import UNKNOWN, Access, accesses
from gi_cuda.init.proposing.buffers import ProposedBuffer, role_of
from gi_cuda.init.source.sources import Chosen

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMORY = re.compile(r"(?:(?:static|inline|volatile)\s+)*(?:__(?:device|constant|managed)__\s+)+")
_DECLARED = re.compile(r"(\w+)((?:\s*\[[^\]]*\])*)\s*(;|=|\{)")
_WRITTEN = (
    r"\b{name}\b(?:\s*\[[^;]*?\])*(?:\s*\.\w+)*\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|\b{name}\b(?:\s*\[[^;]*?\])*"
    r"\s*(?:\+\+|--)|(?:\+\+|--|&)\s*{name}\b|\batomic\w+\s*\(\s*{name}\b"
)
"""Pattern of code that writes to a variable, or takes its address."""

_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')

_COPIED = r"cuda(?:MemcpyToSymbol|GetSymbolAddress)\w*\s*\([^;]*\b{name}\b"


def _declared(code: CudaFile) -> Iterator[tuple[Node, str]]:
    """Yield the declarations outside of functions, each of one variable, with its text."""
    for node in walk(code.root):
        text = code.of(node)
        if node.type != "declaration" or "extern" in text.split() or inside_function(node):
            continue
        parts = node.children_by_field_name("declarator")
        if len(parts) < 2:
            yield node, text
            continue
        head = code.text[node.start_byte : parts[0].start_byte]
        yield from ((node, f"{head}{code.of(part)};") for part in parts)


def variables(source: Chosen, types: ElementTypes) -> tuple[ProposedBuffer, ...]:
    """Return buffers for the ``__constant__`` and ``__device__`` variables that a kernel uses.

    Variables that keep their initial value are left out.
    """
    reader = _Reader(source, types)
    for node, text in _declared(source.code):
        reader.take(node, text)
    return tuple(reader.found.values())


class _Reader:
    """Collects buffers, one declaration after the other."""

    def __init__(self, source: Chosen, types: ElementTypes) -> None:
        self._source, self._types = source, types
        # Ignore the text of strings, such as formats.
        self._texts = tuple(_STRING.sub('""', text) for text in source.texts)
        self._taken = {argument.name for argument in source.kernel.arguments}
        self._used = {
            word
            for text, whole in zip(self._texts, source.texts, strict=True)
            for word in {*_WORD.findall(text)} - (self._taken if whole == source.body else set())
        }
        self.found: dict[str, ProposedBuffer] = {}

    def take(self, node: Node, text: str) -> None:
        """Add a buffer for a variable, if the kernel uses it."""
        memory, declared = _MEMORY.match(text), _DECLARED.search(text)
        if memory is None or declared is None or declared[1] not in self._used:
            return
        name, constant_memory = declared[1], "__constant__" in memory[0]
        if declared[3] != ";" and (constant_memory or not self._is_written(name)):
            return  # it keeps its value
        content = self._content(node, text, declared)
        if content is None:
            return
        element, length = content
        access = Access.READ if constant_memory else self._use(name, length)
        own = self._free(name)
        self.found[own] = ProposedBuffer(
            own,
            element,
            role_of(access),
            access,
            " ".join(text.partition("=")[0].split()).strip(" ;"),
            str(length),
            symbol=_qualified(self._source.code, node, name),
            copied=self._copied(name),
        )

    def _is_written(self, name: str) -> bool:
        """Tell whether device code writes to a variable, or takes its address."""
        return any(re.search(_WRITTEN.format(name=name), text) for text in self._texts)

    def _copied(self, name: str) -> bool:
        return re.search(_COPIED.format(name=name), self._source.code.text) is not None

    def _content(
        self, node: Node, text: str, declared: re.Match[str]
    ) -> tuple[Element, int] | None:
        """Return the type and the number of a variable's items; None for pointers."""
        kind = node.child_by_field_name("type")
        code = self._source.code
        element = None if kind is None else self._types.element(code.of(kind))
        length = _length(code, re.findall(r"\[([^\]]*)\]", declared[2]))
        starred = "*" in text.partition(declared[1])[0]
        if element is None or length is None or starred or element.addresses:
            return None
        return element, length

    def _use(self, name: str, length: int) -> Access:
        """Return how functions access a variable; single values are not analyzed."""
        code = self._source.code
        evolving = {function.name for function in self._source.functions}
        found = Access.NONE
        for definition in code.definitions if length > 1 else ():
            if definition.name in evolving:
                found |= accesses(code, definition, name)
        return UNKNOWN if found in (Access.NONE, Access.READ) else found

    def _free(self, name: str) -> str:
        while name in self._taken or name in self.found:
            name += "_"
        self._taken.add(name)
        return name


def _qualified(code: CudaFile, node: Node, name: str) -> str:
    parent = node.parent
    while parent is not None:
        scope = (
            parent.child_by_field_name("name") if parent.type == "namespace_definition" else None
        )
        name = f"{code.of(scope)}::{name}" if scope is not None else name
        parent = parent.parent
    return name


def _length(code: CudaFile, dimensions: Sequence[str]) -> int | None:
    length = 1
    for dimension in dimensions:
        value = constant(code, dimension)
        if value is None:
            return None
        length *= value
    return length
