"""What launches would leave to later ones in the variables of a shared library.

A variant's variables are all that lie in its namespace: ``__device__`` and ``__constant__`` ones,
static ones of functions and classes, and what the compiler keeps beside them. What lies in none
comes from headers, and all variants of the library share it.
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
from gi_cuda.backends.host.shard import Shard
from gi_cuda.backends.host.static_shared import FRONT, owner

_OTHERS: Final = re.compile(
    r"\.(?:data\.rel\.ro|(?:init|fini)_array|dynamic|got|t(?:data|bss)|noinit)|gi_shared_"
)
"""Writable sections that hold no variables, or such as are a thread's own, or that the runtime
poisons before every block."""

_Stamp: TypeAlias = tuple[Path, int, int]
"""A file: its path, its number and when it was written; another one may come in its place."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """Where a variable is, and what it holds when its library is loaded; None: zeros."""

    memory: NDArray[np.uint8]
    first: NDArray[np.uint8] | None

    @classmethod
    def of(cls, memory: NDArray[np.uint8]) -> _Variable:
        """A variable that no launch has written to so far. What code sets when the library is
        loaded is no less its first value than what the file has."""
        return cls(memory, memory.copy() if memory.any() else None)

    def restore(self) -> None:
        """Make it what it was."""
        self.memory[:] = 0 if self.first is None else self.first


@dataclass(slots=True)
class OpenLibrary:
    """A loaded library, and what the variables of its variants held before these ran.

    Attributes:
        stamp: of its file.
        users: how many have opened it and not closed it.
    """

    stamp: _Stamp
    shard: Shard
    users: int = 0
    _known: dict[str, list[_Variable]] = field(default_factory=dict)

    def keep(self, variant: str) -> None:
        """Remember what a variant's variables hold, before it runs for the first time."""
        places = _places(self.shard.elf)
        for one in (FRONT, variant):
            if one not in self._known:
                found = self.shard.memories(*places.get(one, ()))
                self._known[one] = [_Variable.of(memory) for memory in found]

    def restore(self, variant: str) -> None:
        """Make a variant's variables what they were when the library was loaded."""
        for one in (FRONT, variant):
            for variable in self._known[one]:
                variable.restore()


class Libraries:
    """The libraries that a process has loaded. Each is loaded once, however often it is opened: the
    system would give the same memory again, with what launches have left there."""

    def __init__(self) -> None:
        self._open: dict[_Stamp, OpenLibrary] = {}

    def open(self, path: Path, variant: str) -> OpenLibrary:
        """The library at a path, for one of its variants.

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
        """Unload a library where nobody else has it open."""
        library.users -= 1
        if not library.users:
            del self._open[library.stamp]
            library.shard.close()


@lru_cache(maxsize=64)
def _places(elf: Elf) -> dict[str, list[tuple[int, int]]]:
    """Where the variables of each variant lie in a library, and in its copies: offsets, sizes."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, offset, size in _variables(elf):
        found[owner(name)].append((offset, size))
    return dict(found)


def _variables(elf: Elf) -> Iterator[tuple[str, int, int]]:
    """Names, offsets and sizes of a library's variables."""
    for symbol in elf.symbols:
        if symbol.is_variable and symbol.size and 0 < symbol.section < len(elf.sections):
            section = elf.sections[symbol.section]
            if section.writable and not _OTHERS.match(section.name):
                yield symbol.name, symbol.value, symbol.size
