"""Restore variables of a shared library, so that launches leave nothing to later ones.

A variant's variables are those in its namespace: ``__device__`` and ``__constant__`` variables,
static variables of functions and classes, and those that the compiler adds. Variables in no
variant's namespace come from headers, and all variants of the library share them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.build.static_shared import FRONT, owner
from gi_cuda.backends.host.running.shard import Shard

_OTHERS: Final = re.compile(
    r"\.(?:data\.rel\.ro|(?:init|fini)_array|dynamic|got|t(?:data|bss)|noinit)|gi_shared_"
)
"""Writable sections without variables, with thread-local ones, or with memory that the runtime
poisons before every block."""

_Stamp: TypeAlias = tuple[Path, int, int]
"""Identity of a file, which may be replaced: its path, inode number and modification time."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable's memory, and its contents after loading; None: zeros."""

    memory: NDArray[np.uint8]
    first: NDArray[np.uint8] | None

    @classmethod
    def of(cls, memory: NDArray[np.uint8]) -> _Variable:
        """Return a variable that no launch has written yet.

        Values that code sets when the library is loaded count as initial values.
        """
        return cls(memory, memory.copy() if memory.any() else None)

    def restore(self) -> None:
        """Reset the variable to its initial value."""
        self.memory[:] = 0 if self.first is None else self.first


@dataclass(slots=True)
class OpenLibrary:
    """A loaded library, with the initial values of its variants' variables.

    Attributes:
        stamp: identity of its file.
        shard: the loaded shard.
        users: number of times that it was opened and not closed.
    """

    stamp: _Stamp
    shard: Shard
    users: int = 0
    _known: dict[str, list[_Variable]] = field(default_factory=dict)

    def keep(self, variant: str) -> None:
        """Save the initial values of a variant's variables, before its first run."""
        places = _places(self.shard.elf)
        for one in (FRONT, variant):
            if one not in self._known:
                found = self.shard.memories(*places.get(one, ()))
                self._known[one] = [_Variable.of(memory) for memory in found]

    def restore(self, variant: str) -> None:
        """Reset a variant's variables to their values after loading."""
        for one in (FRONT, variant):
            for variable in self._known[one]:
                variable.restore()


class Libraries:
    """The libraries that a process has loaded.

    Each is loaded once, however often it is opened: the system would return the same memory again,
    with the values that launches left there.
    """

    def __init__(self) -> None:
        self._open: dict[_Stamp, OpenLibrary] = {}

    def open(self, path: Path, variant: str) -> OpenLibrary:
        """Return the library at a path, for one of its variants.

        Raises:
            OSError: it cannot be loaded.
        """
        stat = path.stat()
        stamp = (path, stat.st_ino, stat.st_mtime_ns)
        if stamp not in self._open:
            self._open[stamp] = OpenLibrary(stamp, Shard(path))
        library = self._open[stamp]
        library.users += 1
        library.keep(variant)
        return library

    def close(self, library: OpenLibrary) -> None:
        """Unload a library unless somebody else has it open."""
        library.users -= 1
        if not library.users:
            del self._open[library.stamp]
            library.shard.close()


@lru_cache(maxsize=64)
def _places(elf: Elf) -> dict[str, list[tuple[int, int]]]:
    """Return offsets and sizes of each variant's variables in a library, and in its copies."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, offset, size in _variables(elf):
        found[owner(name)].append((offset, size))
    return dict(found)


def _variables(elf: Elf) -> Iterator[tuple[str, int, int]]:
    """Yield names, offsets and sizes of a library's variables."""
    for symbol in elf.symbols:
        if symbol.is_variable and symbol.size and 0 < symbol.section < len(elf.sections):
            section = elf.sections[symbol.section]
            if section.writable and not _OTHERS.match(section.name):
                yield symbol.name, symbol.value, symbol.size
