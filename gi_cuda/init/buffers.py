"""Buffers of a target: what a kernel gets, and variables of the source that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from gi_cuda.grammar import Function
from gi_cuda.grammar.frontends.cuda.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.file import CudaFile, inside_function, walk
from gi_cuda.init.access import UNKNOWN, Access, accesses
from gi_cuda.init.layouts import Layouts
from gi_cuda.init.shapes import element_of
from gi_cuda.init.sizes import bracketed, constant

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMORY = re.compile(r"(?:(?:static|inline|volatile)\s+)*(?:__(?:device|constant|managed)__\s+)+")
_DECLARED = re.compile(r"(\w+)((?:\s*\[[^\]]*\])*)\s*(;|=|\{)")
_WRITTEN = (
    r"\b{name}\b(?:\s*\[[^;]*?\])*(?:\s*\.\w+)*\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|\b{name}\b(?:\s*\[[^;]*?\])*"
    r"\s*(?:\+\+|--)|(?:\+\+|--|&)\s*{name}\b|\batomic\w+\s*\(\s*{name}\b"
)
"""What writes to a variable, or takes its address."""

_COPIED = r"cuda(?:MemcpyToSymbol|GetSymbolAddress)\w*\s*\([^;]*\b{name}\b"


@dataclass(frozen=True, slots=True)
class Fill:
    """Random numbers of a case.

    Attributes:
        low, high: none below, all below this. If there is but one whole number, all are that.
    """

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Notes:
    """What is said behind the keys of a buffer, "" where nothing is.

    Attributes:
        data: behind what its data are made of.
    """

    size: str = ""
    role: str = ""
    data: str = ""


SEEN = "as it was seen"
"""Where an image is from that a run told of."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a texture or surface over a buffer is.

    Attributes:
        dimensions: 0 for linear memory.
        layered: whether there are layers.
        size, layers: expressions; none before they are known.
        filter, address, normalized, as_float: as a target's texture has them.
        note: where they are from; "" where nothing said.
    """

    surface: bool = False
    dimensions: int = 0
    layered: bool = False
    size: tuple[str, ...] = ()
    layers: str | None = None
    filter: str = "point"
    address: tuple[str, ...] = ("clamp",)
    normalized: bool = False
    as_float: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProposedBuffer:
    """An array that the kernel gets, or a variable of the source that it uses.

    Attributes:
        role: as in ``target.toml``.
        access: how the kernel uses it.
        elements: how many items it has from the one on that the kernel's pointer points to, as
            the source says; None where it does not.
        symbol: the variable's name.
        texture: name of the kernel's parameter that is a texture or surface over it.
        image: what that is.
        fill: what a case's numbers are; None: what is usual for the type.
        begin: how many items it has before that; "" for none.
        grown: what its elements were at first, where they were too few; "" where they were not.
        notes: what was found out about it.
        addresses: buffers into which its items point, and at which byte of an item.
        const: whether the source says that nothing is written to it.
        copied: whether host code sets the variable.
    """

    name: str
    element: Element
    role: str
    access: Access
    shown: str
    elements: str | None = None
    symbol: str | None = None
    texture: str | None = None
    image: Image | None = None
    fill: Fill | None = None
    begin: str = ""
    grown: str = ""
    notes: Notes = field(default_factory=Notes)
    addresses: tuple[tuple[str, int], ...] = ()
    const: bool = False
    copied: bool = False

    def ahead(self, counts: Sequence[str]) -> str:
        """How many items it has from where the kernel's pointer points.

        Args:
            counts: names that say how much there is, where the source does not.
        """
        return self.elements or " * ".join(counts) or "1"

    def items(self, counts: Sequence[str]) -> str:
        """How many items it has in all."""
        ahead = self.ahead(counts)
        return f"{ahead} + {bracketed(self.begin)}" if self.begin else ahead


def role_of(access: Access) -> str:
    """The role of a buffer that a kernel uses like this."""
    if access in (Access.NONE, Access.READ):
        return "input"
    return "output" if access is Access.WRITE else "inout"


def judged(
    buffers: Sequence[ProposedBuffer], symbols: Sequence[ProposedBuffer]
) -> tuple[ProposedBuffer, ...]:
    """All buffers. Where no write is to be seen, whatever the kernel may write to is an output:
    running tells."""
    every = (*buffers, *symbols)
    if any(one.role in ("output", "inout") for one in every):
        return every
    free = [one for one in buffers if not one.const and not one.texture]
    return tuple(replace(b, role="inout", access=UNKNOWN) if b in free else b for b in every)


def of_pointer(
    name: str, element: Element, access: Access, shown: str, *, const: bool
) -> ProposedBuffer:
    """The buffer that a pointer points to.

    Args:
        access: how the kernel uses it.
        const: whether nothing is written through it.
    """
    access = Access.READ if const else access
    return ProposedBuffer(name, element, role_of(access), access, shown, const=const)


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
    code: CudaFile, functions: Sequence[Function], types: ElementTypes, layouts: Layouts
) -> tuple[ProposedBuffer, ...]:
    """``__constant__`` and ``__device__`` variables that the kernel uses: those without a value,
    and those that it writes to.

    Args:
        layouts: for types and sizes that the text alone does not tell.
    """
    texts = [code.text[f.start : f.end] for f in functions]
    used = {word for text in texts for word in _WORD.findall(text)}
    found: dict[str, ProposedBuffer] = {}
    for node, text in _declared(code):
        memory = _MEMORY.match(text)
        declared = _DECLARED.search(text)
        if memory is None or declared is None or declared[1] not in used:
            continue
        name, constant_memory = declared[1], "__constant__" in memory[0]
        written = any(re.search(_WRITTEN.format(name=name), text) for text in texts)
        if declared[3] != ";" and (constant_memory or not written):
            continue  # it has a value, and keeps it
        kind = node.child_by_field_name("type")
        element = None if kind is None else types.element(code.of(kind))
        length = _length(code, re.findall(r"\[([^\]]*)\]", declared[2]))
        if element is None or length is None or "*" in text.partition(name)[0]:
            element, length = _asked(layouts, name)
        if element is None or length is None:
            continue
        access = Access.READ if constant_memory else _use(code, functions, name, length)
        own = _free(name, found)
        found[own] = ProposedBuffer(
            own,
            element,
            role_of(access),
            access,
            " ".join(text.partition("=")[0].split()).strip(" ;"),
            str(length),
            symbol=_qualified(code, node, name),
            copied=re.search(_COPIED.format(name=name), code.text) is not None,
        )
    return tuple(found.values())


def _use(code: CudaFile, functions: Sequence[Function], name: str, length: int) -> Access:
    """How functions use a variable; of one that is no array nobody looks that closely."""
    evolving = {function.name for function in functions}
    found = Access.NONE
    for definition in code.definitions if length > 1 else ():
        if definition.name in evolving:
            found |= accesses(code, definition, name)
    return UNKNOWN if found in (Access.NONE, Access.READ) else found


def _free(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "_"
    return name


def _asked(layouts: Layouts, name: str) -> tuple[Element | None, int | None]:
    """What a variable is made of, and how many items it has, as a compiler says."""
    shape = layouts.variable(name)
    if shape is None or shape.size == 0 or shape.kind in ("function", "pointer"):
        return None, None
    inner = shape
    while inner.kind == "array" and inner.inner is not None:
        inner = inner.inner
    element = element_of(inner)
    return element, shape.size // element.bytes


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
