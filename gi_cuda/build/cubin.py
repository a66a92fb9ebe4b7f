"""Reading cubins: which kernels and variables each variant has, what they take, and code keys.

A cubin is an ELF file. Every kernel has a section ``.text.<symbol>``, its static shared memory is
the size of ``.nv.shared.<symbol>``, and the attributes in ``.nv.info`` give registers and stack.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import xxhash

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_SYMTAB, _RELA, _NOBITS = 2, 4, 8
_OBJECT, _FUNCTION = 1, 2
_ENTRY = 0x10
"""In a symbol's ``st_other``: the function is a kernel."""

_MAX_THREADS, _REQUIRED_THREADS, _FRAME_SIZE, _REGISTERS = 0x05, 0x10, 0x11, 0x2F
_WITH_SIZE = 4
"""Format of attributes that carry a length and so many bytes; the others carry two bytes."""

_VARIANT = re.compile(r"v(\d+)\Z")
_POINTER = re.compile(r"gi_(?:kernel|symbol)_\d+\Z")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as compiled.

    Attributes:
        symbol: its mangled name.
        registers: a thread.
        local: bytes of stack a thread; spilled registers are among them.
        shared: bytes of static shared memory, without what the system takes for itself.
        code: bytes of machine code.
    """

    symbol: str
    registers: int
    local: int
    shared: int
    code: int


@dataclass(frozen=True, slots=True)
class Content:
    """What a cubin holds of one variant.

    Attributes:
        kernels: by mangled name.
        variables: mangled names of ``__constant__`` and ``__device__`` variables, by name.
        pointers: mangled names of what the variables ``gi_kernel_<i>`` and ``gi_symbol_<i>`` point
            at, by these names (see :func:`gi_cuda.build.nvcc.pointers`).
        key: 128-bit xxh3 of everything that decides what the kernels do and how fast: machine
            code, shared memory, stack, launch bounds, the variables' places and first values.
            The variant's own name is no part of it, nor are the pointers.
    """

    kernels: Mapping[str, Kernel]
    variables: Mapping[str, str]
    pointers: Mapping[str, str]
    key: bytes


def name_parts(symbol: str) -> tuple[str, ...]:
    """The identifiers of a mangled nested name, without template and function arguments.

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


def owner(parts: Sequence[str]) -> int | None:
    """The variant in whose namespace a name lies; None for names that all share."""
    # Names with internal linkage lie in a namespace of their file's, outside or inside.
    for part in parts[:2]:
        if found := _VARIANT.match(part):
            return int(found[1])
        if not part.startswith(("_INTERNAL_", "_GLOBAL__N_")):
            return None
    return None


def _plain(parts: Sequence[str]) -> str:
    """A name without what differs between two variants that are otherwise the same."""
    outer = [p for p in parts[:2] if not p.startswith("_") and not _VARIANT.match(p)]
    return "::".join([*outer, *parts[2:]])


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int


@dataclass(slots=True)
class _Parts:
    """What belongs to one variant, while it is being gathered."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    facts: list[tuple[str, bytes]] = field(default_factory=list)


def read_cubin(data: bytes) -> dict[int, Content]:
    """The content of a cubin by variant.

    Raises:
        ValueError: the bytes are no cubin.
    """
    elf = _Elf(data)
    found: dict[int, _Parts] = defaultdict(_Parts)
    registers, frames = elf.attributes(_REGISTERS), elf.attributes(_FRAME_SIZE)
    ours: dict[tuple[str, int], tuple[int, str]] = {}
    for index, symbol in enumerate(elf.symbols):
        parts = name_parts(symbol.name)
        ident = owner(parts)
        if ident is None:
            continue
        mine, plain = found[ident], _plain(parts)
        if symbol.kind == _OBJECT and _POINTER.match(parts[-1]):
            ours[elf.sections[symbol.section].name, symbol.value] = (ident, parts[-1])
        elif symbol.kind == _OBJECT:
            mine.variables[parts[-1]] = symbol.name
            place = f"{elf.sections[symbol.section].name}+{symbol.value}:{symbol.size}"
            mine.facts.append((f"variable {plain} {place}", elf.initial(symbol)))
        elif symbol.kind == _FUNCTION and symbol.other & _ENTRY:
            kernel = Kernel(
                symbol.name,
                registers.get(index, 0),
                frames.get(index, 0),
                elf.shared(symbol.name),
                symbol.size,
            )
            mine.kernels[symbol.name] = kernel
            numbers = f"{kernel.registers} {kernel.local} {kernel.shared}"
            code = elf.content(f".text.{symbol.name}") + elf.content(f".nv.constant2.{symbol.name}")
            mine.facts.append((f"kernel {plain} {numbers}", code))
            mine.facts.append((f"bounds {plain}", elf.bounds(symbol.name)))
    relocations = list(elf.relocations())
    for symbol, section, offset, _ in relocations:
        if (section, offset) in ours:
            ident, name = ours[section, offset]
            found[ident].pointers[name] = symbol.name
    # A pointer is told of in two places: where it lies, and in a table of all that is pointed at.
    pointed = {symbol for mine in found.values() for symbol in mine.pointers.values()}
    for symbol, section, offset, kind in relocations:
        parts = name_parts(symbol.name)
        ident = owner(parts)
        if ident is None or _POINTER.match(parts[-1]) or (section, offset) in ours:
            continue
        if symbol.name in pointed and symbol.kind == _FUNCTION:
            continue
        found[ident].facts.append((f"relocation {_plain(parts)} {offset} {kind}", b""))
    return {
        ident: Content(mine.kernels, mine.variables, mine.pointers, _digest(mine.facts))
        for ident, mine in found.items()
    }


def _digest(facts: list[tuple[str, bytes]]) -> bytes:
    digest = xxhash.xxh3_128()
    for text, content in sorted(facts):
        digest.update(f"{text} {len(content)}\0".encode())
        digest.update(content)
    return digest.digest()


class _Elf:
    """As much of ELF as cubins need: 64 bits, little-endian."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self._data = data
        header = _HEADER.unpack_from(data)
        table, size, number, names = header[6], header[11], header[12], header[13]
        raw = [_SECTION.unpack_from(data, table + i * size) for i in range(number)]
        strings = raw[names][4]
        self.sections = [
            _Section(self._string(strings + r[0]), r[1], r[4], r[5], r[6], r[7]) for r in raw
        ]
        self._by_name = {section.name: section for section in self.sections}
        self.symbols = list(self._symbols())

    def _string(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode("utf-8", "replace")

    def _bytes(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]

    def _symbols(self) -> Iterator[_Symbol]:
        for section in self.sections:
            if section.kind != _SYMTAB:
                continue
            strings = self.sections[section.link].offset
            for name, info, other, index, value, size in _SYMBOL.iter_unpack(self._bytes(section)):
                yield _Symbol(self._string(strings + name), info & 15, other, index, value, size)

    def content(self, name: str) -> bytes:
        """The bytes of a section; none where it is not there or takes no place in the file."""
        section = self._by_name.get(name)
        return b"" if section is None or section.kind == _NOBITS else self._bytes(section)

    def initial(self, symbol: _Symbol) -> bytes:
        """A variable's first value; none where it is zero."""
        section = self.sections[symbol.section] if symbol.section < len(self.sections) else None
        if section is None or section.kind == _NOBITS:
            return b""
        at = section.offset + symbol.value
        return self._data[at : at + symbol.size]

    def shared(self, symbol: str) -> int:
        """Static shared memory of a kernel, bytes."""
        section = self._by_name.get(f".nv.shared.{symbol}")
        if section is None:
            return 0
        # From capability 9.0 on the first KiB is the system's own, and there is a section for it.
        reserved = 1024 if ".nv.shared.reserved.0" in self._by_name else 0
        return section.size - reserved

    def attributes(self, which: int) -> dict[int, int]:
        """A number that ``.nv.info`` gives for functions, by the index of their symbol."""
        return {
            index: value
            for attribute, data in _attributes(self.content(".nv.info"))
            if attribute == which
            for index, value in [struct.unpack_from("<II", data)]
        }

    def bounds(self, symbol: str) -> bytes:
        """The launch bounds of a kernel, as they are encoded."""
        return b"".join(
            bytes([attribute]) + data
            for attribute, data in _attributes(self.content(f".nv.info.{symbol}"))
            if attribute in (_MAX_THREADS, _REQUIRED_THREADS)
        )

    def relocations(self) -> Iterator[tuple[_Symbol, str, int, int]]:
        """What is to be put in place when the code is loaded: symbol, section, offset, kind."""
        for section in self.sections:
            if section.kind != _RELA or section.name == ".rela.debug_frame":
                continue
            for offset, info, _ in _RELOCATION.iter_unpack(self._bytes(section)):
                patched = self.sections[section.info].name
                yield self.symbols[info >> 32], patched, offset, info & 0xFFFFFFFF


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _WITH_SIZE:
            yield attribute, data[at : at + size]
            at += size
