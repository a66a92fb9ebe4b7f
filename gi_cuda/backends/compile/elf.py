"""Read sections, symbols, relocations of ELF files (cubins, objects), and attributes of kernels.

pyelftools takes ten times as long for every variant.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_CUDA = 190
"""Machine number of cubins."""

_NEW_ABI = 0x41
"""Byte 7 of cubins since CUDA 13: the architecture is in the second byte of the flags, not the
first."""

_SYMTAB, _RELA, _NOBITS = 2, 4, 8
_WRITABLE = 1
_OBJECT, _FUNCTION = 1, 2
_ENTRY = 0x10
"""Bit of a symbol's ``st_other``: the function is a kernel."""

_MAX_THREADS, _REQUIRED_THREADS, _FRAME_SIZE, _PARAMETER, _REGISTERS = 0x05, 0x10, 0x11, 0x17, 0x2F
_WITH_SIZE = 4
"""Format of attributes that consist of a length and so many bytes; others consist of two bytes."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    writable: bool


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A function, a variable, or another symbol.

    Attributes:
        index: its index in the symbol table.
        section: number of its section.
        value: its offset in the section.
        size: bytes.
    """

    index: int
    name: str
    kind: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_variable(self) -> bool:
        """Tell whether it is a variable."""
        return self.kind == _OBJECT

    @property
    def is_function(self) -> bool:
        """Tell whether it is a function (a kernel, too)."""
        return self.kind == _FUNCTION

    @property
    def is_kernel(self) -> bool:
        """Tell whether it is a kernel."""
        return self.is_function and bool(self.other & _ENTRY)


@dataclass(frozen=True, slots=True)
class Relocation:
    """An address to insert when the code is linked or loaded.

    Attributes:
        symbol: the symbol whose address is inserted.
        section: number of the section to change.
        offset: offset in that section.
        kind: relocation type, a number of the machine's ABI.
        addend: number to add to the symbol's address.
    """

    symbol: ElfSymbol
    section: int
    offset: int
    kind: int
    addend: int


class Elf:
    """A 64-bit little-endian ELF file.

    Raises:
        ValueError: the data is none.
    """

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self._data = data
        header = _HEADER.unpack_from(data)
        table, size, number, names = header[6], header[11], header[12], header[13]
        raw = [_SECTION.unpack_from(data, table + i * size) for i in range(number)]
        strings = raw[names][4]
        self.sections = [
            _Section(
                name=self._string(strings + name),
                kind=kind,
                address=address,
                offset=offset,
                size=size,
                link=link,
                info=info,
                writable=bool(flags & _WRITABLE),
            )
            for name, kind, flags, address, offset, size, link, info, _, _ in raw
        ]
        self._by_name = {section.name: section for section in self.sections}
        self.symbols = list(self._symbols())

    def _string(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode("utf-8", "replace")

    def _bytes(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]

    def _symbols(self) -> Iterator[ElfSymbol]:
        for section in self.sections:
            if section.kind != _SYMTAB:
                continue
            strings = self.sections[section.link].offset
            table = _SYMBOL.iter_unpack(self._bytes(section))
            for index, (name, info, other, lies, value, size) in enumerate(table):
                named = self._string(strings + name)
                yield ElfSymbol(index, named, info & 15, other, lies, value, size)

    @property
    def architecture(self) -> int | None:
        """GPU architecture, e.g. 90 for ``sm_90``; None if the file is no cubin."""
        _, _, machine, _, _, _, _, flags, *_ = _HEADER.unpack_from(self._data)
        if machine != _CUDA:
            return None
        return int(flags >> 8 if self._data[7] == _NEW_ABI else flags) & 0xFF

    def content(self, name: str) -> bytes:
        """Return the bytes of a section; none if it is missing or takes no space in the file."""
        section = self._by_name.get(name)
        return b"" if section is None or section.kind == _NOBITS else self._bytes(section)

    def content_of(self, section: int) -> bytes:
        """Return the bytes of a section, by its number."""
        found = self.sections[section]
        return b"" if found.kind == _NOBITS else self._bytes(found)

    def initial(self, symbol: ElfSymbol) -> bytes:
        """Return a variable's initial bytes; none if it is zero."""
        if symbol.section >= len(self.sections):
            return b""
        return self.content_of(symbol.section)[symbol.value : symbol.value + symbol.size]

    def shared(self, symbol: str) -> int:
        """Return the static shared memory of a kernel in bytes."""
        section = self._by_name.get(f".nv.shared.{symbol}")
        if section is None:
            return 0
        # From capability 9.0 on the system reserves the first KiB, and there is a section for it.
        reserved = 1024 if ".nv.shared.reserved.0" in self._by_name else 0
        return section.size - reserved

    @property
    def registers(self) -> dict[int, int]:
        """Registers per thread of functions, by the index of their symbol."""
        return self._attributes(_REGISTERS)

    @property
    def frames(self) -> dict[int, int]:
        """Bytes of stack per thread of functions, by the index of their symbol."""
        return self._attributes(_FRAME_SIZE)

    def _attributes(self, which: int) -> dict[int, int]:
        return {
            index: value
            for attribute, data in _attributes(self.content(".nv.info"))
            if attribute == which
            for index, value in [struct.unpack_from("<II", data)]
        }

    def bounds(self, symbol: str) -> bytes:
        """Return the launch bounds of a kernel in encoded form."""
        return b"".join(
            bytes([attribute]) + data
            for attribute, data in _attributes(self.content(f".nv.info.{symbol}"))
            if attribute in (_MAX_THREADS, _REQUIRED_THREADS)
        )

    def parameters(self, symbol: str) -> list[tuple[int, int]]:
        """Return offset and size, in bytes, of each parameter of a kernel, in order."""
        found = {}
        for attribute, data in _attributes(self.content(f".nv.info.{symbol}")):
            if attribute == _PARAMETER:
                _, ordinal, offset, word = struct.unpack_from("<IHHI", data)
                found[ordinal] = (offset, word >> 18)
        return [found[ordinal] for ordinal in sorted(found)]

    def relocations(self) -> Iterator[Relocation]:
        """Yield all relocations except those of debugging information."""
        for section in self.sections:
            if section.kind != _RELA or section.name.startswith(".rela.debug"):
                continue
            for offset, info, addend in _RELOCATION.iter_unpack(self._bytes(section)):
                symbol = self.symbols[info >> 32]
                yield Relocation(symbol, section.info, offset, info & 0xFFFFFFFF, addend)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _WITH_SIZE:
            yield attribute, data[at : at + size]
            at += size
