"""Buffers of a target: what a kernel gets, and variables of the source that it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar import Function
from gi_cuda.grammar.frontends.cuda.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.file import CudaFile, inside_function, walk
from gi_cuda.init.access import Access
from gi_cuda.init.sizes import bracketed, constant

_WORD = re.compile(r"[A-Za-z_]\w*")


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


def variables(
    code: CudaFile, functions: Sequence[Function], types: ElementTypes
) -> tuple[ProposedBuffer, ...]:
    """``__constant__`` and ``__device__`` variables without a value that the kernel uses."""
    used = {w for f in functions for w in _WORD.findall(code.text[f.start : f.end])}
    found = []
    for node in walk(code.root):
        text = code.of(node)
        if node.type != "declaration" or "(" in text or "=" in text or "extern" in text.split():
            continue
        memory = re.match(r"\s*(?:static\s+)?__(constant|device)__\b", text)
        match = re.search(r"(\w+)((?:\s*\[[^\]]*\])*)\s*;", text)
        if memory is None or match is None or match[1] not in used or inside_function(node):
            continue
        kind = node.child_by_field_name("type")
        element = None if kind is None else types.element(code.of(kind))
        length = _length(code, re.findall(r"\[([^\]]*)\]", match[2]))
        if element is None or length is None:
            continue
        access = Access.READ if memory[1] == "constant" else Access.READ | Access.WRITE
        found.append(
            ProposedBuffer(
                match[1],
                element,
                role_of(access),
                access,
                text.strip(" ;"),
                str(length),
                symbol=_qualified(code, node, match[1]),
            )
        )
    return tuple(found)


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
