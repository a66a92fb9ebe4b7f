"""Variables of a source that a kernel uses: buffers that nobody passes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.constants import constant
from gi_cuda.grammar.frontends.cuda.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.file import CudaFile, inside_function, walk
from gi_cuda.init.kernel.access import UNKNOWN, Access, accesses
from gi_cuda.init.proposing.buffers import ProposedBuffer, role_of
from gi_cuda.init.proposing.members import behind
from gi_cuda.init.proposing.shapes import element_of, has_addresses
from gi_cuda.init.source.layouts import Layouts, Shape
from gi_cuda.init.source.sources import Chosen

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMORY = re.compile(r"(?:(?:static|inline|volatile)\s+)*(?:__(?:device|constant|managed)__\s+)+")
_DECLARED = re.compile(r"(\w+)((?:\s*\[[^\]]*\])*)\s*(;|=|\{)")
_WRITTEN = (
    r"\b{name}\b(?:\s*\[[^;]*?\])*(?:\s*\.\w+)*\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|\b{name}\b(?:\s*\[[^;]*?\])*"
    r"\s*(?:\+\+|--)|(?:\+\+|--|&)\s*{name}\b|\batomic\w+\s*\(\s*{name}\b"
)
"""What writes to a variable, or takes its address."""

_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')

_SET = r"\b{name}\s*(?:[-+]?=(?!=)|\+\+|--)|(?:\+\+|--|&)\s*{name}\b"
"""What sets a pointer itself, or takes its address."""

_NULL = re.compile(r"(?:=|\{)\s*(?:0|NULL|nullptr)?\s*\}?\s*;")
"""The end of a declaration of a pointer that leads nowhere before host code sets it."""

_COPIED = r"cuda(?:MemcpyToSymbol|GetSymbolAddress)\w*\s*\([^;]*\b{name}\b"


def _declared(code: CudaFile) -> Iterator[tuple[Node, str]]:
    """Declarations outside of functions, each of one variable, with its text."""
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


def variables(
    source: Chosen, types: ElementTypes, layouts: Layouts
) -> tuple[tuple[ProposedBuffer, ...], tuple[ProposedBuffer, ...]]:
    """``__constant__`` and ``__device__`` variables that the kernel uses: those without a value,
    and those that it writes to. Behind them the buffers into which pointers in them lead.

    Args:
        layouts: for types and sizes that the text alone does not tell.
    """
    reader = _Reader(source, types, layouts)
    for node, text in _declared(source.code):
        reader.take(node, text)
    return tuple(reader.found.values()), tuple(reader.led_to)


@dataclass(frozen=True, slots=True)
class _Content:
    """What a variable holds: items, one or more; `item` where a compiler was asked."""

    element: Element
    length: int
    item: Shape | None = None


class _Reader:
    """Takes one declaration after the other."""

    def __init__(self, source: Chosen, types: ElementTypes, layouts: Layouts) -> None:
        self._source, self._types, self._layouts = source, types, layouts
        # What a format says is done to nothing.
        self._texts = tuple(_STRING.sub('""', text) for text in source.texts)
        self._taken = {argument.name for argument in source.kernel.arguments}
        self._used = {
            word
            for text, whole in zip(self._texts, source.texts, strict=True)
            for word in {*_WORD.findall(text)} - (self._taken if whole == source.body else set())
        }
        self.found: dict[str, ProposedBuffer] = {}
        self.led_to: list[ProposedBuffer] = []

    def take(self, node: Node, text: str) -> None:
        """See which buffers stand for a variable, if it is one that the kernel uses."""
        memory, declared = _MEMORY.match(text), _DECLARED.search(text)
        if memory is None or declared is None or declared[1] not in self._used:
            return
        name, constant_memory = declared[1], "__constant__" in memory[0]
        pointer = "*" in text.partition(name)[0] and not declared[2]
        written = self._is(_SET if pointer else _WRITTEN, name)
        valued = declared[3] != ";" and not (pointer and _NULL.search(text))
        if valued and (constant_memory or not written):
            return  # it keeps its value
        content = self._content(node, text, declared)
        if content is None or (pointer and written):
            return
        places = () if written else self._led_to(name, content)
        fixed = constant_memory or places
        access = Access.READ if fixed else self._use(name, content.length)
        own = self._free(name)
        self.found[own] = ProposedBuffer(
            own,
            content.element,
            role_of(access),
            access,
            " ".join(text.partition("=")[0].split()).strip(" ;"),
            str(content.length),
            symbol=_qualified(self._source.code, node, name),
            addresses=places,
            copied=self._copied(name),
        )

    def _is(self, how: str, name: str) -> bool:
        """Whether device code does something to a variable."""
        return any(re.search(how.format(name=name), text) for text in self._texts)

    def _copied(self, name: str) -> bool:
        return re.search(_COPIED.format(name=name), self._source.code.text) is not None

    def _content(self, node: Node, text: str, declared: re.Match[str]) -> _Content | None:
        """What a variable holds, as its text or else a compiler says."""
        name = declared[1]
        kind = node.child_by_field_name("type")
        code = self._source.code
        element = None if kind is None else self._types.element(code.of(kind))
        length = _length(code, re.findall(r"\[([^\]]*)\]", declared[2]))
        starred = "*" in text.partition(name)[0]
        if element is not None and length is not None and not (starred or element.addresses):
            return _Content(element, length)
        shape = self._layouts.variable(name)
        if shape is None or shape.size == 0 or shape.kind == "function":
            return None
        item = shape
        while item.kind == "array" and item.inner is not None:
            item = item.inner
        element = element_of(item)
        return _Content(element, shape.size // element.bytes, item)

    def _led_to(self, name: str, content: _Content) -> tuple[tuple[str, int], ...]:
        """Where the pointers in a variable lead, with a buffer for each."""
        if content.item is None or not has_addresses(content.item):
            return ()
        item = f"{name}[]" if content.length > 1 else name

        def written(path: str) -> str:
            return f"{item}.{path}" if path else item

        places, found = behind(self._source, name, content.item, written, self._taken)
        self.led_to += found
        return places

    def _use(self, name: str, length: int) -> Access:
        """How functions use a variable; of one that is no array nobody looks that closely."""
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
