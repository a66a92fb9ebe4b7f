"""Compute code keys of variants from the host compiler's object files.

Every function has a section of its own. So the sections that a variant's exports reach by
relocations decide everything that its kernels do, and how fast.
"""

from __future__ import annotations

import re
from collections import defaultdict

import xxhash

from gi_cuda.backends.compile.elf import Elf, ElfSymbol, Relocation
from gi_cuda.backends.host.build.static_shared import shared_layout

OPTIONS = ("-ffunction-sections",)
"""Options with which object files must be compiled."""

EXPORT = re.compile(r"gi_(?:kernel|symbol)_v(\d+)_(.*)\Z")
"""Name of a variant's export: the variant's number and the identifier."""

_PART = re.compile(r"(?<!\d)(?P<size>\d+)(?=(?P<rest>[A-Za-z_]\w*))")
"""A name in a mangled one."""

_OWN_NAME = re.compile(r"(?:\._Z|_v\d+\Z).*")
"""The part of a section's name that depends on its function or variant."""

_INITIALISERS = (".init_array", ".ctors")


def code_keys(elf: Elf) -> dict[int, dict[str, bytes]]:
    """Return 128-bit xxh3 keys of the kernels and exported variables in an object file.

    They are keyed by the variant's number and their identifier. Two variants with the same keys
    have the same machine code, constants and variables, whatever their files and numbers. Constants
    and variables share sections with those of others, so two variants with the same code may have
    different keys. There are no keys if code runs when the file is loaded.
    """
    if any(section.name.startswith(_INITIALISERS) for section in elf.sections):
        return {}
    patches: dict[int, list[Relocation]] = defaultdict(list)
    for one in elf.relocations():
        patches[one.section].append(one)
    exports: dict[int, list[tuple[str, ElfSymbol]]] = defaultdict(list)
    for symbol in elf.symbols:
        if found := EXPORT.match(symbol.name):
            exports[int(found[1])].append((found[2], symbol))
    layout = shared_layout(elf)
    return {
        ident: {
            name: _key(elf, patches, symbol, sum(one.bytes for one in layout.of(f"v{ident}")))
            for name, symbol in own
        }
        for ident, own in exports.items()
    }


def _key(
    elf: Elf,
    patches: dict[int, list[Relocation]],
    export: ElfSymbol,
    shared: int,
) -> bytes:
    """Return the key of all that an export reaches. Sections are numbered by first use.

    Args:
        shared: bytes of static shared memory, whether it is used or not.
    """
    digest = xxhash.xxh3_128(f"{shared}\0".encode())
    reached: list[int] = []

    def enter(found: list[Relocation], start: int) -> None:
        for one in found:
            symbol, place = one.symbol, (one.offset - start, one.kind, one.addend)
            if 0 < symbol.section < len(elf.sections):
                if symbol.section not in reached:
                    reached.append(symbol.section)
                number = reached.index(symbol.section)
                digest.update(f"{place} {number}+{symbol.value}\0".encode())
            else:
                digest.update(f"{place} {symbol.name}\0".encode())

    start, stop = export.value, export.value + export.size
    digest.update(f"{export.size}\0".encode() + elf.initial(export))
    enter([one for one in patches[export.section] if start <= one.offset < stop], start)
    for section in reached:  # grows on the way
        # Kernels that share a variable must differ from kernels with a variable each.
        name = _OWN_NAME.sub("", elf.sections[section].name)
        digest.update(f"{name} {elf.sections[section].size}\0".encode() + elf.content_of(section))
        enter(patches[section], 0)
    return digest.digest()


def functions_in(data: bytes) -> frozenset[str]:
    """Return the names of all functions in an object file, without namespaces and arguments.

    Raises:
        ValueError: the bytes are no object file.
    """
    symbols = [symbol.name for symbol in Elf(data).symbols if symbol.is_function]
    return frozenset(
        found["rest"][: int(found["size"])] for one in symbols for found in _PART.finditer(one)
    )
