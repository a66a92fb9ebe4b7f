"""Find in the host compiler's object files the names and variables that variants' kernels use.

Every function has a section of its own, so relocations lead from a variant's exports to all code
that its kernels can run.
"""

from __future__ import annotations

import ctypes
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gi_cuda.backends.compile.elf import Elf, Relocation
from gi_cuda.backends.host.build.library import build_library
from gi_cuda.backends.host.build.objects import EXPORT
from gi_cuda.backends.host.build.static_shared import PREFIX, UNGUARDED
from gi_cuda.backends.protocol.undefined import said_name, undefined
from gi_cuda.backends.protocol.variants import Phenotype

_AT_LOAD = (".init", ".preinit", ".ctors", ".fini", ".dtors")
"""Sections of code that runs when a library is loaded or unloaded."""

_INDIRECT = 10
"""Type of symbols whose address a function chooses when the library is loaded."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_LINE_MARKER = re.compile(r'#(?:line)? (\d+) "([^"]*)"')

_CONSTANT = ".data.rel.ro"
"""Section of constants that contain addresses; it is writable only while it is loaded."""


@dataclass(frozen=True, slots=True)
class Linkage:
    """Names that a variant's exports use, directly or not.

    Attributes:
        undefined: names that another library has to define.
        variables: sections of writable variables, without static shared memory.
    """

    undefined: frozenset[str]
    variables: frozenset[str]


def linkage(elf: Elf) -> dict[int, Linkage]:
    """Return the names that each variant of an object file uses, by the variant's number."""
    leading: dict[int, list[Relocation]] = defaultdict(list)
    for one in elf.relocations():
        leading[one.section].append(one)
    found: dict[int, Linkage] = {}
    for ident, places in _exports(elf).items():
        waiting = [
            one
            for section, start, stop in places
            for one in leading[section]
            if start <= one.offset < stop
        ]
        found[ident] = _reached(elf, leading, waiting)
    return found


def _exports(elf: Elf) -> dict[int, list[tuple[int, int, int]]]:
    """Return section, begin and end of each variant's exports."""
    exports: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for one in elf.symbols:
        if found := EXPORT.match(one.name):
            exports[int(found[1])].append((one.section, one.value, one.value + one.size))
    return exports


def _reached(elf: Elf, leading: dict[int, list[Relocation]], waiting: list[Relocation]) -> Linkage:
    undefined, sections = set[str](), set[int]()
    while waiting:
        symbol = waiting.pop().symbol
        if not 0 < symbol.section < len(elf.sections):
            undefined.add(symbol.name)
        elif symbol.section not in sections:
            sections.add(symbol.section)
            waiting += leading[symbol.section]
    names = (elf.sections[at].name for at in sections if elf.sections[at].writable)
    shared = (PREFIX, UNGUARDED, _CONSTANT)
    variables = frozenset(name for name in names if not name.startswith(shared))
    return Linkage(frozenset(undefined) - {""}, variables)


def runs_when_loaded(elf: Elf) -> bool:
    """Tell whether a file has code that runs when it is loaded or unloaded."""
    sections = any(one.name.startswith(_AT_LOAD) and one.size for one in elf.sections)
    return sections or any(one.kind == _INDIRECT for one in elf.symbols)


def undefined_in(shard: Sequence[Phenotype], elf: Elf, file_name: str) -> str:
    """Return errors, in a compiler's format, about names that variants use and no library defines.

    Args:
        elf: the object file of the shard.
        file_name: name of the source.
    """
    if all(_is_there(one.name) for one in elf.symbols if not one.section):
        return ""
    reached = linkage(elf)
    errors = []
    for one in shard:
        lacking = [name for name in sorted(reached[one.ident].undefined) if not _is_there(name)]
        for name in lacking:
            said = undefined(f"undefined symbol: {name}")
            place = _place(one.text, said_name(name)) or f"v{one.ident}/{file_name}:1"
            errors.append(f"{place}: error: {said}")
    return "\n".join(errors)


def _place(text: str, name: str) -> str:
    """Return file and line of a name's first use in a preprocessed text; "" if there is none."""
    file, line = "", 0
    word = re.compile(rf"\b{re.escape(_WORD.findall(name)[0])}\b")
    for row in text.splitlines():
        if marker := _LINE_MARKER.match(row):
            file, line = marker[2], int(marker[1]) - 1
        else:
            line += 1
            if file and word.search(row):
                return f"{file}:{line}"
    return ""


@lru_cache(maxsize=1 << 12)
def _is_there(name: str) -> bool:
    """Tell whether a worker has a name, or does not need it because the linker makes it."""
    if not name or name.startswith("_GLOBAL_"):
        return True
    try:
        _runtime()[name]
    except AttributeError:
        return False
    return True


@lru_cache(maxsize=1)
def _runtime() -> ctypes.CDLL:
    """Return the runtime library, which gives access to the libraries that it needs, too."""
    return ctypes.CDLL(str(build_library()))
