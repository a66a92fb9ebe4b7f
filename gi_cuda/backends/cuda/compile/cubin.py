"""Read cubins: each variant's kernels and variables, the kernels' resources, and code keys.

A cubin is an ELF file. Every kernel has a section ``.text.<symbol>``. Its static shared memory is
the size of ``.nv.shared.<symbol>``, and the attributes in ``.nv.info`` give registers and stack.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import xxhash

from gi_cuda.backends.compile.elf import Elf

_VARIANT = re.compile(r"v(\d+)\Z")
_NAMESPACE = re.compile(r"N(?:\d+_(?:INTERNAL_|GLOBAL__N_)\w*?)?\d+v\d+?(?=\d+[A-Za-z_])")
"""A variant's namespace in the name of a function's static variable."""
_POINTER = re.compile(r"gi_(?:kernel|symbol)_\d+\Z")
_STATIC = re.compile(r"__nv_static_\d+__[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}_(?P<rest>\w+)")
"""Names with internal linkage that nvcc has made unique in a program."""

_CODE = re.compile(r"\.(?:text|nv\.constant2)\.(?P<kernel>\w+)\Z")
"""Sections of one kernel."""
_MANGLED = re.compile(r"_ZL?(?P<size>\d+)(?P<rest>\w+)")


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A compiled kernel.

    Attributes:
        symbol: its mangled name.
        registers: registers per thread.
        local: bytes of stack per thread, with spilled registers.
        shared: bytes of static shared memory, without the part that the system reserves.
        code: bytes of machine code.
        parameters: byte offset of each parameter.
    """

    symbol: str
    registers: int
    local: int
    shared: int
    code: int
    parameters: tuple[int, ...] = ()

    def arguments(self, values: Sequence[tuple[bytes, int]]) -> bytes:
        """Return arguments in memory layout.

        The compiler places them: an alignment of more than 16 bytes counts from the address of the
        whole parameter block on the device, not from the first argument.

        Args:
            values: bytes and alignment of each argument.
        """
        known = len(self.parameters) == len(values)
        packed = bytearray()
        for number, (value, align) in enumerate(values):
            begin = self.parameters[number] if known else -(-len(packed) // align) * align
            packed += bytes(begin - len(packed)) + value
        return bytes(packed)


@dataclass(frozen=True, slots=True)
class Content:
    """The part of a cubin that belongs to one variant.

    Attributes:
        kernels: kernels by mangled name.
        variables: mangled names of ``__constant__`` and ``__device__`` variables, by name.
        pointers: mangled names of the objects that the variables ``gi_kernel_<i>`` and
            ``gi_symbol_<i>`` point at, by these names (see
            :func:`gi_cuda.backends.cuda.compile.nvcc.pointers`).
        keys: for each kernel, by mangled name, 128-bit xxh3 of everything that decides what it does
            and how fast: machine code, shared memory, stack, launch bounds, the addresses and
            initial values of all variables of the variant. The variant's number and the pointers do
            not count.
    """

    kernels: Mapping[str, CompiledKernel]
    variables: Mapping[str, str]
    pointers: Mapping[str, str]
    keys: Mapping[str, bytes]


def name_parts(symbol: str) -> tuple[str, ...]:
    """Return the identifiers of a mangled nested name, without template and function arguments.

    ``_ZN2v14blurILi3EEEvPf`` gives ``("v1", "blur")``; names that are not nested give ``()``.
    """
    if not symbol.startswith("_ZN"):
        return ()
    parts, at = [], 3
    while at < len(symbol) and symbol[at].isdigit():
        end = at
        while symbol[end].isdigit():
            end += 1
        at, end = end + int(symbol[at:end]), end
        parts.append(symbol[end:at])
    return tuple(parts)


def enclosing(symbol: str) -> str:
    """Return the symbol of the function that declares a static variable; else ``symbol``.

    >>> enclosing("_ZZN2v11kEPiE5count")
    '_ZN2v11kEPiE5count'
    """
    return f"_Z{symbol[3:]}" if symbol.startswith("_ZZ") else symbol


def plain_name(symbol: str) -> str:
    """Return a function's or variable's identifier without namespaces, arguments and types.

    >>> [plain_name(one) for one in ("scale", "_Z5scalePKiPii", "_ZN2v05scaleEPKiPii")]
    ['scale', 'scale', 'scale']
    """
    if static := _STATIC.fullmatch(symbol):
        return plain_name(static["rest"])
    if parts := name_parts(symbol):
        return parts[-1]
    if mangled := _MANGLED.fullmatch(symbol):
        return mangled["rest"][: int(mangled["size"])]
    return symbol


def owner(parts: Sequence[str]) -> int | None:
    """Return the number of the variant that has a name; None if all variants share it."""
    # Names with internal linkage are in a namespace of their file, around the variant's or in it.
    for part in parts[:2]:
        if found := _VARIANT.match(part):
            return int(found[1])
        if not part.startswith(("_INTERNAL_", "_GLOBAL__N_")):
            return None
    return None


def _plain(symbol: str, parts: Sequence[str]) -> str:
    """Return a name without the parts that differ between equal variants."""
    if enclosing(symbol) != symbol:
        return _NAMESPACE.sub("N", symbol, count=1)
    outer = [p for p in parts[:2] if not p.startswith("_") and not _VARIANT.match(p)]
    return "::".join([*outer, *parts[2:]])


@dataclass(slots=True)
class _Parts:
    """The content that belongs to one variant, while it is being collected.

    Attributes:
        kernels, variables, pointers: see :class:`Content`.
        facts: everything that decides what its kernels do; by mangled name if it affects one
            kernel, under "" if it may affect all.
    """

    kernels: dict[str, CompiledKernel] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    facts: dict[str, list[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(list))

    def keys(self) -> dict[str, bytes]:
        """Return the key of each kernel."""
        return {one: _digest(self.facts[one] + self.facts[""]) for one in self.kernels}


def read_cubin(data: bytes) -> dict[int, Content]:
    """Return the content of a cubin by variant.

    Raises:
        ValueError: the bytes are no cubin.
    """
    elf = Elf(data)
    kernels = kernels_of(elf)
    found: dict[int, _Parts] = defaultdict(_Parts)
    ours: dict[tuple[int, int], tuple[int, str]] = {}
    for symbol in elf.symbols:
        parts = name_parts(enclosing(symbol.name))
        ident = owner(parts)
        if ident is None:
            continue
        mine, plain = found[ident], _plain(symbol.name, parts)
        if symbol.is_variable and _POINTER.match(parts[-1]):
            ours[symbol.section, symbol.value] = (ident, parts[-1])
        elif symbol.is_variable:
            if enclosing(symbol.name) == symbol.name:
                mine.variables[parts[-1]] = symbol.name
            place = f"{elf.sections[symbol.section].name}+{symbol.value}:{symbol.size}"
            mine.facts[""].append((f"variable {plain} {place}", elf.initial(symbol)))
        elif kernel := kernels.get(symbol.name):
            mine.kernels[symbol.name] = kernel
            numbers = f"{kernel.registers} {kernel.local} {kernel.shared}"
            code = elf.content(f".text.{symbol.name}") + elf.content(f".nv.constant2.{symbol.name}")
            bounds = elf.bounds(symbol.name)
            mine.facts[symbol.name] += [(f"kernel {plain} {numbers}", code), ("bounds", bounds)]
    relocations = list(elf.relocations())
    for one in relocations:
        if (one.section, one.offset) in ours:
            ident, name = ours[one.section, one.offset]
            found[ident].pointers[name] = one.symbol.name
    # There are two relocations for a pointer: at its address, and in a table of all targets.
    pointed = {symbol for mine in found.values() for symbol in mine.pointers.values()}
    for one in relocations:
        parts = name_parts(enclosing(one.symbol.name))
        ident = owner(parts)
        if ident is None or _POINTER.match(parts[-1]) or (one.section, one.offset) in ours:
            continue
        if one.symbol.name in pointed and one.symbol.is_function:
            continue
        place = f"{one.offset} {one.kind} {one.addend}"
        section = _CODE.match(elf.sections[one.section].name)
        mine = found[ident]
        kernel_name = section["kernel"] if section and section["kernel"] in mine.kernels else ""
        mine.facts[kernel_name].append(
            (f"relocation {_plain(one.symbol.name, parts)} {place}", b"")
        )
    return {
        ident: Content(mine.kernels, mine.variables, mine.pointers, mine.keys())
        for ident, mine in found.items()
    }


def kernels_of(elf: Elf) -> dict[str, CompiledKernel]:
    """Return all kernels of a cubin, by mangled name."""
    registers, frames = elf.registers, elf.frames
    return {
        one.name: CompiledKernel(
            one.name,
            registers.get(one.index, 0),
            frames.get(one.index, 0),
            elf.shared(one.name),
            one.size,
            tuple(offset for offset, _ in elf.parameters(one.name)),
        )
        for one in elf.symbols
        if one.is_kernel
    }


def _digest(facts: list[tuple[str, bytes]]) -> bytes:
    digest = xxhash.xxh3_128()
    for text, content in sorted(facts):
        digest.update(f"{text} {len(content)}\0".encode())
        digest.update(content)
    return digest.digest()
