"""Map C++ types in memory to the element types of buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gi_cuda.grammar.frontends.cuda.declarations.element_types import SMALL_FLOATS, Element, Member
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, block_end
from gi_cuda.init.source.layouts import Shape
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.numbers import NumberType

_CLASS = re.compile(r"\b(?:class|struct)\s+(?P<name>[A-Za-z_]\w*)\b[^;{}()]*\{")
_VIRTUAL = re.compile(r"\bvirtual\b")


def element_of(shape: Shape | None) -> Element:
    """Return the element type of a buffer with items of this type; bytes if unknown.

    Pointers in the items, and members that are not numbers, are left out: they hold zeros.
    """
    if shape is None or shape.size == 0:
        return Element("uint8")
    if shape.kind == "number":
        return Element(shape.name, truth=shape.truth)
    if shape.kind == "pointer":
        return Element("uint64", addresses=True)
    leaves = tuple(numbers(shape))
    kinds = {one.type for one in leaves}
    parts = sum(one.length for one in leaves)
    if len(kinds) == 1 and parts * NumberType(leaves[0].type).dtype.itemsize == shape.size:
        return Element(leaves[0].type, parts)
    leaves = tuple(replace(one, type=NumberType(one.type).dtype.name) for one in leaves)
    return Element("uint8", shape.size, fields=leaves, addresses=has_addresses(shape))


def has_addresses(shape: Shape) -> bool:
    """Tell whether a type contains pointers."""
    if shape.kind in ("array", "struct"):
        inner = [one for _, _, one in shape.members]
        inner += [shape.inner] if shape.inner is not None else []
        return any(map(has_addresses, inner))
    return shape.kind in ("pointer", "function")


def numbers(shape: Shape, name: str = "", at: int = 0) -> Iterator[Member]:
    """Yield the numbers in a type, each with a unique name; an array of numbers is one member."""
    if shape.kind == "number":
        yield Member(name or "value", shape.name, 1, at)
    elif shape.name in SMALL_FLOATS:
        yield Member(name or "value", SMALL_FLOATS[shape.name], 1, at)
    elif shape.kind == "array" and shape.inner is not None and shape.inner.size:
        inner = shape.inner
        count = shape.size // inner.size
        if inner.kind == "number":
            yield Member(name or "value", inner.name, count, at)
            return
        for index in range(count):
            yield from numbers(inner, f"{name}_{index}".lstrip("_"), at + index * inner.size)
    elif shape.kind == "struct":
        for member, offset, inner in shape.members:
            yield from numbers(inner, f"{name}_{member}".lstrip("_"), at + offset)


def is_polymorphic(source: Chosen, shape: Shape) -> bool:
    """Tell whether a type, or the type it points to, has virtual functions."""
    held = shape.inner if shape.kind == "pointer" else shape
    if held is None or held.kind != "struct":
        return False
    if any(name.startswith("_vptr") for name, _, _ in held.members):
        return True
    # Compilers may omit the layout of classes with virtual functions: look at the text.
    name = held.name.rpartition("::")[2]
    for file in (source.code, *source.code.around):
        bare = bare_text(file.text)
        for match in _CLASS.finditer(bare):
            body = bare[match.end() : block_end(bare, match.end() - 1)]
            if match["name"] == name and _VIRTUAL.search(body):
                return True
    return False
