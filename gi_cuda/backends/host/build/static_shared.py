"""Static shared memory on the host: each array ends at a page that may not be accessed.

To g++ it is uninitialised memory of a program, section ``.noinit``. This is the only section
attribute that also works for variables of templates, for which g++ forgets other sections. The
assembly of a shard is rewritten here to change the layout. If that is not possible (clang++, other
processors), the memory stays as it is, poisoned but without guards.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from gi_cuda.backends.compile.elf import Elf

PREFIX: Final = "gi_shared_"
"""Prefix of the section with a variant's static shared memory between guards."""

UNGUARDED: Final = ".noinit"
"""Section with memory as the compiler laid it out."""

FRONT: Final = ""
"""Key, in place of a variant, for memory that is declared in a header that does not evolve."""

Span: TypeAlias = tuple[int, int]
"""Offset of a part of a library, and its size in bytes."""

_PAGE: Final = 4096
_GUARD: Final = 1 << 16
"""Bytes around each array. They take no memory, only addresses."""

_OWNER: Final = re.compile(r"12_GLOBAL__N_1(\d+)(v\d+)")
_NAME: Final = re.compile(r"(?=(?<![1-9])([1-9]\d*)([A-Za-z_]\w*)\Z)")
_LOCAL: Final = re.compile(r"(?=(?<=E)(\d+)([A-Za-z_]\w*)\Z)")
_END: Final = re.compile(r"E?(?:_\d+|__\d+_)?")
_SECTION: Final = re.compile(r"\t\.section\t\.noinit(?:,.*)?\n")
_VARIABLE: Final = re.compile(
    r"(?:\t\.align (?P<align>\d+)\n)?"
    r"(?P<kind>\t\.type\t(?P<name>\S+), @object\n)(?P<size>\t\.size\t(?P=name), \d+\n)"
    r"(?P=name):\n(?P<zeros>(?:\t\.zero\t\d+\n)+)"
)
_ZERO: Final = re.compile(r"\.zero\t(\d+)")


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A variable in static shared memory.

    Attributes:
        name: its name in the source.
        offset: its offset in the library.
        bytes: its size.
        guarded: whether it has pages of its own, between inaccessible ones.
    """

    name: str
    offset: int
    bytes: int
    guarded: bool

    @property
    def room(self) -> tuple[int, int]:
        """Bytes of its pages before it and after it."""
        if not self.guarded:
            return 0, 0
        return self.offset % _PAGE, -(self.offset + self.bytes) % _PAGE


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The static shared memory of a library.

    Attributes:
        arrays: arrays by the variant that they belong to.
        closed: memory that is inaccessible until a variant is used: its arrays and their guards.
    """

    arrays: dict[str, list[SharedArray]]
    closed: list[Span]

    def of(self, variant: str) -> list[SharedArray]:
        """Return the arrays that each block of a variant has."""
        return [*self.arrays.get(FRONT, ()), *self.arrays.get(variant, ())]


def owner(symbol: str) -> str:
    """Return the variant that a variable belongs to; "" if it comes from a header."""
    found = _OWNER.search(symbol)
    # In `2v15table`, the number says that the variant's name has two characters.
    return found[2][: int(found[1])] if found else FRONT


def with_guards(assembly: str) -> str:
    """Rewrite g++'s assembly of a shard so that its static shared memory is between guards."""
    pieces = _SECTION.split(assembly)
    if len(pieces) == 1:
        return assembly
    begun: set[str] = set()
    kept = pieces[:1]
    for piece in pieces[1:]:
        at = 0
        while variable := _VARIABLE.match(piece, at):
            section = f"{PREFIX}{owner(variable['name']) or 'front'}"
            kept.append(_guarded(variable, section, first=section not in begun))
            begun.add(section)
            at = variable.end()
        kept += [f'\t.section\t{UNGUARDED},"aw"\n', piece[at:]]
    return "".join(kept)


def _guarded(variable: re.Match[str], section: str, *, first: bool) -> str:
    """Return a variable that ends where a guard begins, as nearly as its alignment allows."""
    align = int(variable["align"] or 1)
    taken = sum(int(size) for size in _ZERO.findall(variable["zeros"]))
    guard = f"\t.balign {_PAGE}\n\t.skip {_GUARD}\n"
    return (
        f'\t.section\t{section},"aw",@nobits\n{guard if first else ""}'
        f"\t.balign {max(_PAGE, align)}\n\t.skip {-taken // align * align % _PAGE}\n"
        f"{variable['kind']}{variable['size']}{variable['name']}:\n{variable['zeros']}{guard}"
    )


def elf_of(library: Path) -> Elf:
    """Return the contents of a linked library; the last few are cached, copies as one object."""
    return _parsed(library.read_bytes())


@lru_cache(maxsize=4)
def _parsed(library: bytes) -> Elf:
    return Elf(library)


@lru_cache(maxsize=4)
def shared_layout(elf: Elf) -> SharedLayout:
    """Return the layout of static shared memory in a linked library."""
    arrays: dict[str, list[SharedArray]] = defaultdict(list)
    for symbol in elf.symbols:
        if symbol.is_variable and symbol.size and 0 < symbol.section < len(elf.sections):
            section = elf.sections[symbol.section].name
            if section.startswith((PREFIX, UNGUARDED)):
                guarded = section.startswith(PREFIX)
                array = SharedArray(_plain(symbol.name), symbol.value, symbol.size, guarded)
                arrays[owner(symbol.name)].append(array)
    return SharedLayout(dict(arrays), list(_joined(elf)))


def _joined(elf: Elf) -> Iterator[Span]:
    """Yield the guarded sections, adjacent ones as one."""
    spans = sorted(
        (section.address, section.size)
        for section in elf.sections
        if section.name.startswith(PREFIX) and section.size
    )
    begin = end = 0
    for address, size in spans:
        if address != end:
            if end:
                yield begin, end - begin
            begin = address
        end = address + size
    if end:
        yield begin, end - begin


@lru_cache(maxsize=512)
def _plain(symbol: str) -> str:
    """Return the last name in a mangled one, which is the variable's own."""
    names = _LOCAL if symbol.startswith("_ZZ") else _NAME
    for found in names.finditer(symbol):
        size = int(found[1])
        if size <= len(found[2]) and _END.fullmatch(found[2], size):
            return found[2][:size]
    return symbol
