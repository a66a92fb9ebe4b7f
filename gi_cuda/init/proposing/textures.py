"""Find texture and surface objects of a kernel, and the types that it fetches from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element, ElementTypes
from gi_cuda.grammar.frontends.cuda.declarations.file import Argument, CudaFile, signature, walk
from gi_cuda.grammar.frontends.cuda.declarations.functions import Definition
from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.init.host.host import template_names
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.proposing.buffers import Image, ProposedBuffer, role_of

_TEXTURES = frozenset({"cudaTextureObject_t", "CUtexObject"})
_SURFACES = frozenset({"cudaSurfaceObject_t", "CUsurfObject"})
_FETCH = re.compile(
    r"(?:::)?(?:(?P<linear>tex1Dfetch)|tex(?P<texture>[123])D(?P<layers>Layered)?(?:Lod|Grad|gather)?"
    r"|surf(?P<surface>[123])D(?P<surface_layers>Layered)?(?P<access>read|write))"
    r"\s*(?:<(?P<type>[^()]*)>)?"
)
_COMPONENTS = (1, 2, 4)
_WIDEST = 4
"""Bytes of the largest component of a texel."""


def is_object(types: ElementTypes, argument: Argument) -> bool:
    """Tell whether a kernel's parameter is a texture or surface object."""
    plain = not argument.pointers and not argument.reference
    return plain and types.resolved(argument.type) in _TEXTURES | _SURFACES


def memory_of(
    code: CudaFile,
    function: Definition,
    argument: Argument,
    types: ElementTypes,
    taken: Collection[str],
) -> ProposedBuffer:
    """Return the buffer behind a texture or surface object, of the type that the kernel fetches.

    Args:
        function: the kernel.
        argument: its parameter.
        taken: names of other parameters.
    """
    name = argument.name
    surface = types.resolved(argument.type) in _SURFACES
    found = [*_Fetches(code, types).of(function, name, {})]
    typed = [fetch.element for fetch in found if fetch.element is not None]
    shaped = found[0] if found else _Fetch(None, 2 if surface else 0)
    access = reduce(or_, (fetch.access for fetch in found), Access.NONE)
    buffer = f"{name}_data"
    while buffer in taken:
        buffer += "_"
    return ProposedBuffer(
        buffer,
        typed[0] if typed else Element("float32"),
        role_of(access) if surface else "input",
        access if surface or typed else Access.NONE,
        f"memory of the {'surface' if surface else 'texture'} {name}",
        texture=name,
        image=Image(surface, shaped.dimensions, shaped.layered),
    )


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A fetch from a texture, or an access to a surface.

    Attributes:
        element: the type fetched; None if unknown.
        dimensions: 1 to 3; 0 for linear memory.
    """

    element: Element | None
    dimensions: int
    layered: bool = False
    access: Access = Access.READ


class _Fetches:
    """Search of fetches in a function, and in the functions that it passes the object to."""

    def __init__(self, code: CudaFile, types: ElementTypes) -> None:
        self._code, self._types = code, types
        self._seen: set[tuple[int, str]] = set()

    def of(self, function: Definition, name: str, bound: Mapping[str, str]) -> Iterator[_Fetch]:
        """Yield the fetches from the texture that a name stands for.

        Args:
            bound: arguments of the function's template, by parameter.
        """
        key = (function.node.start_byte, name)
        body = function.node.child_by_field_name("body")
        if body is None or key in self._seen:
            return
        self._seen.add(key)
        for node in walk(body):
            if node.type == "call_expression":
                yield from self._call(node, name, bound)

    def _call(self, node: Node, name: str, bound: Mapping[str, str]) -> Iterator[_Fetch]:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None:
            return
        passed = parts(given)
        places = [n for n, one in enumerate(passed) if self._code.of(one) == name]
        own = self._code.of(called).strip()
        if fetch := _FETCH.fullmatch(own):
            into = places == [1] and (fetch["access"] == "write" or "&" in self._code.of(passed[0]))
            if places == [0] or into:
                kind = (fetch["type"] or "").strip()
                yield self._fetched(fetch, bound.get(kind, kind))
            return
        short = own.partition("<")[0].rpartition("::")[2].strip()
        definition = self._code.function(short)
        parameters = [] if definition is None else list(signature(self._code, definition))
        for place in places:
            if definition is not None and place < len(parameters) and parameters[place].name:
                names = template_names(self._code, definition.node)
                given_types = own.partition("<")[2].rpartition(">")[0].split(",")
                texts = [bound.get(text.strip(), text.strip()) for text in given_types]
                known = dict(zip(names, texts, strict=False))
                yield from self.of(definition, parameters[place].name, known)

    def _fetched(self, fetch: re.Match[str], kind: str) -> _Fetch:
        element = self._types.element(kind) if kind else None
        holds = element is not None and not element.fields and element.parts in _COMPONENTS
        if element is None or not holds or element.bytes > _WIDEST * element.parts:
            element = None
        dimensions = int(fetch["texture"] or fetch["surface"] or 0)
        layered = bool(fetch["layers"] or fetch["surface_layers"])
        access = Access.WRITE if fetch["access"] == "write" else Access.READ
        return _Fetch(element, dimensions, layered, access)
