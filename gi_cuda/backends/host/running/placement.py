"""Load libraries at addresses that differ from process to process and from load to load.

A CPU's branch predictor distinguishes jumps by some bits of their addresses only. If jumps of a
library collide with others, of the runtime or of the interpreter, its kernels run up to three times
slower for as long as it stays there. Processes forked from one process use the same addresses. So
the same loads would be slow in all of them, and all would agree on a wrong result.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

_FURTHEST = 1 << 30
"""Bytes of address space over which places are spread."""

_HOLES = tuple(1 << bits for bits in range(28, 11, -1))
"""Sizes of the pieces that fill free address space above the wanted place.

Halving the size at each step needs fewest pieces. The last size is a page, otherwise only some
pages would be possible places.
"""

_PIECES = 1000
"""The most pieces of each size; if there are more holes, some stay free."""

_NUMBERS = count(1)

_RANDOM = random.SystemRandom()
"""The system's random generator: forked processes would share the state of any other."""

_FAILED = ctypes.c_void_p(-1).value


_NORESERVE: int = getattr(mmap, "MAP_NORESERVE", 0)
_system = ctypes.CDLL(None)
_map, _unmap = _system.mmap, _system.munmap
_map.restype = ctypes.c_void_p
_map.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Reserved:
    """Reserved address space, so that the next mapping gets a random address.

    The system maps into the highest hole that is large enough. So all holes are filled, down to a
    piece of random size. This takes no memory. If the system refuses, less is reserved.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[int, int]] = []
        size = _FURTHEST + mmap.PAGESIZE * _RANDOM.randrange(_FURTHEST // mmap.PAGESIZE)
        lowest = self._take(size)
        for piece in _HOLES if lowest else ():
            for _ in range(_PIECES):
                if self._take(piece) < lowest:
                    break

    def _take(self, size: int) -> int:
        """Reserve ``size`` bytes. Return their address; 0 if there are none."""
        address: int | None = _map(
            None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE, -1, 0
        )
        if not address or address == _FAILED:
            return 0
        self._pieces.append((address, size))
        return address

    def give_back(self) -> None:
        """Free all of it."""
        for address, size in _joined(self._pieces):
            _unmap(address, size)
        self._pieces.clear()


def _joined(pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join adjacent pieces."""
    joined: list[tuple[int, int]] = []
    for address, size in sorted(pieces):
        if joined and sum(joined[-1]) == address:
            address, before = joined.pop()
            size += before
        joined.append((address, size))
    return joined


@contextmanager
def elsewhere(library: Path) -> Iterator[Path]:
    """Give, inside the context, a copy of a library that is loaded at a random address.

    A copy is needed since one file is never loaded twice. It may be gone once it is loaded.

    Raises:
        OSError: it cannot be written.
    """
    with _file_beside(library) as (copy, path):
        with library.open("rb") as file:
            shutil.copyfileobj(file, copy)
        copy.flush()
        reserved = Reserved()
        try:
            yield path
        finally:
            reserved.give_back()


@contextmanager
def _file_beside(library: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Give a file that is removed when it is closed; in memory if the folder is read-only."""
    with ExitStack() as stack:
        copy: IO[bytes]
        try:
            made = NamedTemporaryFile(dir=library.parent, suffix=library.suffix)  # noqa: SIM115
            stack.enter_context(made)
            copy, path = made.file, Path(made.name)
        except PermissionError:
            copy = stack.enter_context(os.fdopen(os.memfd_create(library.name), "wb"))
            # A loader reuses the library that it has loaded from a path for later files there.
            path = Path(f"/proc/self/fd/{'../fd/' * next(_NUMBERS)}{copy.fileno()}")
        yield copy, path
