"""Element types of buffers and scalars: map C++ types to a target's names of number types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.constants import constant
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, plain_type, walk
from gi_cuda.grammar.frontends.cuda.text.syntax import name_node
from gi_cuda.spec.numbers import NumberType

SMALL_FLOATS = {
    **{"half": "float16", "__half": "float16", "nv_half": "float16", "__nv_half": "float16"},
    **{"__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16"},
    **{"__nv_fp8_e4m3": "float8_e4m3", "__nv_fp8_e5m2": "float8_e5m2"},
}
"""Floating-point classes of CUDA's headers, with a target's names for them."""
_FIXED = {
    **SMALL_FLOATS,
    **{"bool": "uint8", "char": "int8", "uchar": "uint8", "byte": "uint8", "uint": "uint32"},
    **{"ushort": "uint16", "ulong": "uint64", "size_t": "uint64", "ssize_t": "int64"},
    **{"ptrdiff_t": "int64", "clock_t": "int64", "uintptr_t": "uint64", "float": "float32"},
    **{"double": "float64", "longlong": "int64", "ulonglong": "uint64", "schar": "int8"},
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_VECTOR = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double|half)([1-4])")
_INTEGER_WORDS = frozenset({"unsigned", "signed", "char", "short", "int", "long"})
_ALIGNED = re.compile(r"__align__|\balignas\b|__attribute__|#\s*pragma\s+pack")
_ALIASES_FOLLOWED = 8


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct that consists of numbers.

    Attributes:
        type: numpy's name of the number type.
        length: number of numbers.
        at: offset in the struct, in bytes.
    """

    name: str
    type: str
    length: int
    at: int


@dataclass(frozen=True, slots=True)
class Element:
    """The type of a buffer's items, or of a scalar.

    Attributes:
        type: a target's name for the type of each part.
        parts: number of parts in one item: 4 for ``float4``; for a struct, its size in bytes.
        truth: True if the C++ type is ``bool``.
        fields: for a struct, its members that are numbers.
        addresses: True if the type contains pointers.
    """

    type: str
    parts: int = 1
    truth: bool = False
    fields: tuple[Member, ...] = ()
    addresses: bool = False

    @property
    def bytes(self) -> int:
        """The size of an item in bytes."""
        return NumberType(self.type).dtype.itemsize * self.parts

    @property
    def floating(self) -> bool:
        """Tell whether an item contains floating-point numbers."""
        numbers = [one.type for one in self.fields] or [self.type]
        return any("float" in kind for kind in numbers)


@dataclass(frozen=True, slots=True)
class ElementTypes:
    """The types that a source and its headers define.

    Attributes:
        aliases: type of each alias from ``typedef``, ``using`` and ``#define``; template parameters
            can be added.
        structs: members of each plain struct: type, name, length.
        enums: names of enumerations.
    """

    aliases: Mapping[str, str]
    structs: Mapping[str, tuple[tuple[str, str, int], ...]]
    enums: frozenset[str]

    def element(self, text: str) -> Element | None:
        """Return the element type of a C++ type; None if the type is not understood."""
        name = self.resolved(text)
        if name in _FIXED:
            return Element(_FIXED[name], truth=name == "bool")
        words = name.split()
        if words and _INTEGER_WORDS.issuperset(words):
            return Element(_integer(words))
        if vector := _VECTOR.fullmatch(name):
            part = self.element(vector[1])
            return None if part is None else Element(part.type, int(vector[2]))
        own = name.rpartition("::")[2]
        if own in self.enums:
            return Element("int32")
        return self._struct(own)

    def resolved(self, text: str) -> str:
        """Return the type that a name stands for, with aliases followed."""
        name = plain_type(text).removeprefix("std::").removeprefix("::")
        for _ in range(_ALIASES_FOLLOWED):
            if name not in self.aliases:
                break
            name = plain_type(self.aliases[name]).removeprefix("std::")
        return "uint3" if name == "dim3" else name

    def _struct(self, name: str) -> Element | None:
        members = []
        for kind, member, length in self.structs.get(name, ()):
            element = self.element(kind) if plain_type(kind) != name else None
            if element is None or element.fields:
                return None
            members.append((member, element.type, element.parts * length))
        if not members:
            return None
        if len({kind for _, kind, _ in members}) == 1:
            return Element(members[0][1], sum(count for _, _, count in members))
        members = [(n, NumberType(t).dtype.name, c) for n, t, c in members]
        layout = np.dtype([(n, t, (c,)) for n, t, c in members], align=True)
        places = [layout.fields[name][1] for name, _, _ in members] if layout.fields else []
        fields = (Member(*one, at) for one, at in zip(members, places, strict=True))
        return Element("uint8", layout.itemsize, fields=tuple(fields))


def _integer(words: list[str]) -> str:
    sign = "u" if "unsigned" in words else ""
    if "char" in words:
        return f"{sign}int8"
    if "short" in words:
        return f"{sign}int16"
    return f"{sign}int64" if "long" in words else f"{sign}int32"


def read_element_types(codes: Iterable[CudaFile]) -> ElementTypes:
    """Return the types that some files define; definitions in earlier files take precedence."""
    aliases: dict[str, str] = {}
    structs: dict[str, tuple[tuple[str, str, int], ...]] = {}
    enums = set()
    for code in codes:
        for macro in code.macros.values():
            if macro.parameters is None and re.fullmatch(r"[A-Za-z_][\w: ]*", macro.body):
                aliases.setdefault(macro.name, macro.body)
        for node in walk(code.root):
            if node.type == "type_definition":
                kind, declared = (
                    node.child_by_field_name("type"),
                    node.child_by_field_name("declarator"),
                )
                name = name_node(declared)
                if kind is None or name is None:
                    continue
                if kind.type == "struct_specifier" and kind.child_by_field_name("body"):
                    structs.setdefault(code.of(name), tuple(_members(code, kind)))
                elif kind.type == "enum_specifier" and kind.child_by_field_name("body"):
                    enums.add(code.of(name))
                elif declared is not None and declared.type == "type_identifier":
                    aliases.setdefault(code.of(name), code.of(kind))
            elif node.type == "alias_declaration":
                name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
                if name is not None and kind is not None:
                    aliases.setdefault(code.of(name), code.of(kind))
            elif node.type in ("struct_specifier", "class_specifier"):
                name = node.child_by_field_name("name")
                if name is not None and node.child_by_field_name("body") is not None:
                    structs.setdefault(code.of(name), tuple(_members(code, node)))
            elif node.type == "enum_specifier" and (name := node.child_by_field_name("name")):
                enums.add(code.of(name))
    return ElementTypes(aliases, structs, frozenset(enums))


def _members(code: CudaFile, struct: Node) -> Iterator[tuple[str, str, int]]:
    body = struct.child_by_field_name("body")
    if _ALIGNED.search(code.of(struct)):
        # The layout of a struct with explicit alignment is not known.
        yield "?", "", 0
    for field in body.named_children if body is not None else ():
        kind = field.child_by_field_name("type")
        if field.type != "field_declaration" or kind is None:
            continue
        for declarator in field.children_by_field_name("declarator"):
            if declarator.type == "field_identifier":
                yield code.of(kind), code.of(declarator), 1
            elif declarator.type == "array_declarator":
                name, size = name_node(declarator), declarator.child_by_field_name("size")
                text = "" if size is None else code.of(size)
                length = constant(code, text)
                # If one member is not understood, the whole struct is not.
                known = length is not None and length > 0 and name is not None
                yield (
                    code.of(kind) if known else "?",
                    _text(code, name),
                    length if known and length else 0,
                )
            elif declarator.type != "function_declarator":
                yield "?", code.of(declarator), 0


def _text(code: CudaFile, node: Node | None) -> str:
    return "" if node is None else code.of(node)
