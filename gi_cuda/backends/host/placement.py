"""Places in memory that differ from process to process and from load to load.

Processors tell jumps apart by some bits of where they lie only. Where those of a library come to be
taken for others, of the runtime or of the interpreter, its kernels run up to three times slower for
as long as it stays there. Processes that were forked from one put everything to the same place, so
the same loads would be slow in all of them, and all would agree on what is not so.
"""

from __future__ import annotations

import mmap
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

_FURTHEST = 1 << 30
"""Bytes of address space by which one place may be from another."""


def reserve() -> mmap.mmap:
    """Address space of a random size, which nothing else can lie in until it is closed. Takes no
    memory."""
    size = mmap.PAGESIZE * (1 + secrets.randbelow(_FURTHEST // mmap.PAGESIZE))
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Inside, what is loaded comes to lie in a random place."""
    with reserve():
        yield


@contextmanager
def copied(library: Path) -> Iterator[Path]:
    """A copy of a library: one file is never loaded twice. It need not be there once it is loaded.

    Raises:
        OSError: it cannot be written.
    """
    with NamedTemporaryFile(dir=library.parent, suffix=library.suffix) as copy:
        with library.open("rb") as file:
            shutil.copyfileobj(file, copy)
        copy.flush()
        yield Path(copy.name)
