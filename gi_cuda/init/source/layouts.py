"""Read the memory layout of a kernel's parameters from debug information of a compiler."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from gi_cuda.backends.compile.borrowed_kernels import KERNEL
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.compile.pruning.reachable_code import Reach
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.protocol.variants import Phenotype, Variant
from gi_cuda.grammar.frontends.cuda.parsed_text import read_cuda
from gi_cuda.grammar.interface import Wanted
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.source.diagnostics import compiler_of
from gi_cuda.init.source.sources import Chosen

_SIGNED, _UNSIGNED, _FLOAT, _BOOL = (0x05, 0x06, 0x0D), (0x07, 0x08, 0x10), 0x04, 0x02
"""Encodings of base types; characters are numbers."""

_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")
_SEEN_THROUGH = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_DEEPEST = 12
_OURS = {"gi_small<gi_half_format>": "half", "gi_small<gi_bfloat_format>": "__nv_bfloat16"}
"""CUDA's names for classes that the host back end defines; template arguments have no alias."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A type in memory.

    Attributes:
        kind: ``number``, ``pointer``, ``array``, ``struct``, ``function`` or ``unknown``.
        size: bytes.
        align: bytes.
        name: numpy's name of a number; the C++ name of other types, or their alias.
        const: True for a pointer to const.
        truth: True for a ``bool``.
        inner: the target of a pointer or the item of an array; None if it has no size.
        members: name, first byte and type of each member of a struct.
    """

    kind: str
    size: int
    align: int = 1
    name: str = ""
    const: bool = False
    truth: bool = False
    inner: Shape | None = None
    members: tuple[tuple[str, int, Shape], ...] = ()


@dataclass(frozen=True)
class Layouts:
    """Types of a kernel's parameters; the compiler runs on first use.

    Attributes:
        instance: the kernel with its template arguments.
    """

    source: Chosen
    instance: str
    compilation: Compilation

    def parameters(self) -> tuple[Shape, ...] | None:
        """Return the types of the kernel's parameters; None if its source does not compile."""
        return self._found

    @cached_property
    def _found(self) -> tuple[Shape, ...] | None:
        code, kernels = self.source.code, (self.instance,)
        program = read_cuda(code.source, Wanted(kernels))
        without = self.source.headers.without
        compiler = replace(
            compiler_of(code.path, program, kernels, self.compilation, without), kernels=kernels
        )
        found = self._asked(compiler, program.text)
        if found is not None:
            return found
        # The body may be the part that does not compile: try again with an empty one.
        definition = self.source.kernel.definition
        body = definition.node.child_by_field_name("body")
        text = code.of(definition.node)
        if body is None or text not in program.text:
            return None
        head = text[: body.start_byte - definition.node.start_byte]
        names = identifiers(f"{head} {self.instance} {KERNEL}0")
        return self._asked(
            replace(compiler, reach=Reach(names)), program.text.replace(text, f"{head}{{}}", 1)
        )

    def _asked(self, compiler: HostCompiler, text: str) -> tuple[Shape, ...] | None:
        """Compile a text with the kernel and return its parameters' types; None if it fails."""
        variant = Variant(0, text, self.compilation.define, ("-O0", "-g", "-w"))
        phenotype = compiler.preprocess([variant])[0]
        if not isinstance(phenotype, Phenotype):
            return None
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            path = Path(scratch) / "layouts"
            if not compiler.compile_object([phenotype], path).ok:
                return None
            with path.with_suffix(".o").open("rb") as file:
                reader = _Reader(ELFFile(file).get_dwarf_info())
                return reader.parameters(self.source.kernel.definition.name)


class _Reader:
    """Reader of types in DWARF."""

    def __init__(self, information: Any) -> None:
        self._information = information

    def parameters(self, kernel: str) -> tuple[Shape, ...] | None:
        """Return the parameters of the compiled function of a name; None if there is none."""
        for unit in self._information.iter_CUs():
            for entry in unit.iter_DIEs():
                if self._is(entry, kernel):
                    kinds = [self._referred(one, "DW_AT_type") for one in _parameters(entry)]
                    return tuple(map(self._shape, kinds))
        return None

    def _is(self, entry: Any, kernel: str) -> bool:
        if entry.tag != "DW_TAG_subprogram" or "DW_AT_low_pc" not in entry.attributes:
            return False
        origin = self._referred(entry, "DW_AT_specification") or entry
        return _name(origin).partition("<")[0] == kernel

    def _referred(self, entry: Any, attribute: str) -> Any:
        if attribute not in entry.attributes:
            return None
        return entry.get_DIE_from_attribute(attribute)

    def _shape(self, entry: Any, depth: int = 0, alias: str = "") -> Shape:
        if entry is None or depth > _DEEPEST:
            return Shape("unknown", 0)
        tag, size = entry.tag, _number(entry, "DW_AT_byte_size")
        inner = self._referred(entry, "DW_AT_type")
        if tag == "DW_TAG_typedef":
            return self._shape(inner, depth + 1, alias or _name(entry))
        if tag in _SEEN_THROUGH:
            return self._shape(inner, depth + 1, alias)
        if tag == "DW_TAG_base_type":
            return _base(entry, size)
        if tag == "DW_TAG_enumeration_type":
            under = self._shape(inner, depth + 1)
            return (
                under if under.kind == "number" else Shape("number", size, size, f"int{8 * size}")
            )
        if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
            return self._pointer(inner, depth, alias)
        if tag == "DW_TAG_array_type":
            return self._array(entry, inner, depth)
        if tag in _STRUCTS:
            return self._struct(entry, size, depth, alias)
        return Shape("unknown", size, name=alias or _name(entry))

    def _pointer(self, inner: Any, depth: int, alias: str) -> Shape:
        const = False
        while inner is not None and (inner.tag in _SEEN_THROUGH or inner.tag == "DW_TAG_typedef"):
            const |= inner.tag == "DW_TAG_const_type"
            following = self._referred(inner, "DW_AT_type")
            if following is None or (inner.tag == "DW_TAG_typedef" and not const):
                break
            inner = following
        if inner is not None and inner.tag == "DW_TAG_subroutine_type":
            return Shape("function", 8, 8, alias)
        # Limit the depth behind pointers: a struct may point to itself.
        shape = self._shape(inner, depth + 4) if inner is not None else None
        return Shape("pointer", 8, 8, alias, const=const, inner=shape)

    def _array(self, entry: Any, inner: Any, depth: int) -> Shape:
        items = 1
        for child in entry.iter_children():
            if child.tag == "DW_TAG_subrange_type":
                count = _number(child, "DW_AT_count")
                items *= count or _number(child, "DW_AT_upper_bound", -1) + 1
        item = self._shape(inner, depth + 1)
        return Shape("array", items * item.size, item.align, inner=item)

    def _struct(self, entry: Any, size: int, depth: int, alias: str) -> Shape:
        members = list(self._members(entry, depth))
        if entry.tag == "DW_TAG_union_type":
            # The largest member covers all others.
            members = sorted(members, key=lambda one: -one[2].size)[:1]
        align = max([_number(entry, "DW_AT_alignment", 1), *(one.align for _, _, one in members)])
        name = _name(entry)
        return Shape("struct", size, align, alias or _OURS.get(name, name), members=tuple(members))

    def _members(self, entry: Any, depth: int) -> Iterator[tuple[str, int, Shape]]:
        for child in entry.iter_children():
            base = child.tag == "DW_TAG_inheritance"
            if not base and (child.tag != "DW_TAG_member" or "DW_AT_external" in child.attributes):
                continue
            if "DW_AT_data_bit_offset" in child.attributes:
                continue  # bit fields stay zero
            shape = self._shape(self._referred(child, "DW_AT_type"), depth + 1)
            at = _number(child, "DW_AT_data_member_location")
            if base or not _name(child):
                yield from ((name, at + inner, one) for name, inner, one in shape.members)
            else:
                yield _name(child), at, shape


def _parameters(function: Any) -> Iterator[Any]:
    """Yield a function's parameters, with packs expanded."""
    for child in function.iter_children():
        if child.tag == "DW_TAG_formal_parameter":
            yield child
        elif child.tag == "DW_TAG_GNU_formal_parameter_pack":
            yield from _parameters(child)


def _base(entry: Any, size: int) -> Shape:
    encoding = _number(entry, "DW_AT_encoding")
    sign = "int" if encoding in _SIGNED else "uint"
    name = f"float{8 * size}" if encoding == _FLOAT else f"{sign}{8 * size}"
    return Shape("number", size, size, name, truth=encoding == _BOOL)


def _name(entry: Any) -> str:
    attribute = entry.attributes.get("DW_AT_name")
    return "" if attribute is None else str(attribute.value.decode(errors="replace"))


def _number(entry: Any, name: str, default: int = 0) -> int:
    attribute = entry.attributes.get(name)
    value = default if attribute is None else attribute.value
    return value if isinstance(value, int) else default
