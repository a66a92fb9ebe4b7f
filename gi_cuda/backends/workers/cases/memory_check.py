"""Check that memory suffices for a target's launches before anything is allocated."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.spec import Target

_GROUP = Path("/sys/fs/cgroup/memory.max")


def check_room(target: Target, sizes: Mapping[str, int]) -> None:
    """Refuse launches whose buffers and recorded outputs do not fit into memory together.

    Args:
        sizes: number of elements of each buffer.

    Raises:
        LaunchRefused: they need too much; the message says how much.
    """
    runs = max(2, target.oracle.runs)
    needed = {
        buffer.name: sizes[buffer.name] * buffer.dtype.itemsize * (1 + runs * buffer.role.judged)
        for buffer in target.buffers
    }
    total, there = sum(needed.values()), memory()
    if total > there:
        largest = max(needed, key=needed.__getitem__)
        raise LaunchRefused(
            f"its buffers and their recorded answers take {_giga(total)}, {_giga(needed[largest])}"
            f" of it for {largest}, and there are {_giga(there)} of memory",
            hint="make the sizes in [[case]] of target.toml smaller",
        )


@cache
def memory() -> int:
    """Return the most bytes of memory that this process can have."""
    return min(_limits())


def _limits() -> Iterator[int]:
    yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield soft
    with suppress(OSError, ValueError):  # there is no such file, or it says "max"
        yield int(_GROUP.read_text())


def _giga(size: int) -> str:
    return f"{size / 1e9:.3g} GB"
