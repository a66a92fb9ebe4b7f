"""Static shared memory on the host: each array ends at a page that nobody may touch.

To g++ it is uninitialised memory of a program, section ``.noinit``: of all it knows about variables
only that holds for those of templates, too, whose section it forgets. What it makes of a shard is
laid out anew here before it is assembled. Where that is not possible (clang++, other processors),
the memory stays as it is, poisoned but without guards.
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
"""Of the section that holds a variant's static shared memory between guards."""

UNGUARDED: Final = ".noinit"
"""The section of what is as the compiler laid it out."""

FRONT: Final = ""
"""Stands for the variant where memory is declared in a header that does not evolve."""

Span: TypeAlias = tuple[int, int]
"""Where a part of a library lies, and its bytes."""

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
        name: in the source.
        offset: where it lies in its library.
        guarded: whether its pages are its own, between such that may not be touched.
    """

    name: str
    offset: int
    bytes: int
    guarded: bool

    @property
    def room(self) -> tuple[int, int]:
        """Bytes of its pages before it and behind it."""
        if not self.guarded:
            return 0, 0
        return self.offset % _PAGE, -(self.offset + self.bytes) % _PAGE


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The static shared memory of a library.

    Attributes:
        arrays: by the variant that they belong to.
        closed: what may not be touched until a variant is used, its arrays in their guards.
    """

    arrays: dict[str, list[SharedArray]]
    closed: list[Span]

    def of(self, variant: str) -> list[SharedArray]:
        """What a variant's blocks have of their own."""
        return [*self.arrays.get(FRONT, ()), *self.arrays.get(variant, ())]


def owner(symbol: str) -> str:
    """The variant that a variable belongs to; "" where it comes from a header."""
    found = _OWNER.search(symbol)
    # `2v15table`: so many characters are the variant's.
    return found[2][: int(found[1])] if found else FRONT


def with_guards(assembly: str) -> str:
    """What g++ made of a shard, with its static shared memory between guards."""
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
    """A variable that ends where a guard begins, as nearly as its alignment allows."""
    align = int(variable["align"] or 1)
    taken = sum(int(size) for size in _ZERO.findall(variable["zeros"]))
    guard = f"\t.balign {_PAGE}\n\t.skip {_GUARD}\n"
    return (
        f'\t.section\t{section},"aw",@nobits\n{guard if first else ""}'
        f"\t.balign {max(_PAGE, align)}\n\t.skip {-taken // align * align % _PAGE}\n"
        f"{variable['kind']}{variable['size']}{variable['name']}:\n{variable['zeros']}{guard}"
    )


def elf_of(library: Path) -> Elf:
    """A linked library as it is now; the last few are remembered, copies of one as the same."""
    return _parsed(library.read_bytes())


@lru_cache(maxsize=4)
def _parsed(library: bytes) -> Elf:
    return Elf(library)


@lru_cache(maxsize=4)
def shared_layout(elf: Elf) -> SharedLayout:
    """Where static shared memory lies in a linked library."""
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
    """The guarded sections, those together that lie beside each other."""
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
    """The last name in a mangled one, which is that of the variable itself."""
    names = _LOCAL if symbol.startswith("_ZZ") else _NAME
    for found in names.finditer(symbol):
        size = int(found[1])
        if size <= len(found[2]) and _END.fullmatch(found[2], size):
            return found[2][:size]
    return symbol
