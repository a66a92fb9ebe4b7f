"""Places in memory that differ from process to process and from load to load.

Processors tell jumps apart by some bits of where they lie only. Where those of a library come to be
taken for others, of the runtime or of the interpreter, its kernels run up to three times slower for
as long as it stays there. Processes that were forked from one put everything to the same place, so
the same loads would be slow in all of them, and all would agree on what is not so.
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
"""Bytes of address space by which one place may be from another."""

_HOLES = tuple(1 << bits for bits in range(28, 11, -1))
"""Sizes of the pieces that free address space is filled with, above the place that is wanted: of
halves of each other it takes fewest. The last is a page, or only some pages would be wanted."""

_PIECES = 1000
"""Most pieces of each size; with more holes than that, some stay."""

_NUMBERS = count(1)

_RANDOM = random.SystemRandom()
"""The system's: processes that were forked from one have any other in common."""

_FAILED = ctypes.c_void_p(-1).value


_NORESERVE: int = getattr(mmap, "MAP_NORESERVE", 0)
_system = ctypes.CDLL(None)
_map, _unmap = _system.mmap, _system.munmap
_map.restype = ctypes.c_void_p
_map.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Reserved:
    """Address space that is taken, so that what is mapped next comes to lie in a random place.

    The system maps into the highest hole that is large enough, so all of them are filled, down to
    a piece of random size. Takes no memory. Where the system gives no more, less is taken.
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
        """The address of so many bytes; 0 where there are none."""
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
    """Pieces, those together that lie beside each other."""
    joined: list[tuple[int, int]] = []
    for address, size in sorted(pieces):
        if joined and sum(joined[-1]) == address:
            address, before = joined.pop()
            size += before
        joined.append((address, size))
    return joined


@contextmanager
def elsewhere(library: Path) -> Iterator[Path]:
    """A copy of a library, since one file is never loaded twice; loaded inside, it comes to lie in
    a random place. It need not be there any more once it is loaded.

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
    """A file that goes when it is closed; in memory, where a process may write to no folder."""
    with ExitStack() as stack:
        copy: IO[bytes]
        try:
            made = NamedTemporaryFile(dir=library.parent, suffix=library.suffix)  # noqa: SIM115
            stack.enter_context(made)
            copy, path = made.file, Path(made.name)
        except PermissionError:
            copy = stack.enter_context(os.fdopen(os.memfd_create(library.name), "wb"))
            # A loader takes what it has loaded by a path for any later file of that path.
            path = Path(f"/proc/self/fd/{'../fd/' * next(_NUMBERS)}{copy.fileno()}")
        yield copy, path
