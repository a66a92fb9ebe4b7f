"""Find the processes that a command starts, by a mark in their environment."""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

MARK = "GI_CUDA_TEST"
"""In the environment of a command, and of all that it starts."""


def family(mark: str) -> list[int]:
    """Return all living processes that have the mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def outlive(mark: str) -> None:
    """Wait until all processes of a command have ended by themselves."""
    deadline = time.monotonic() + 60
    while alive := family(mark):
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(alive[0])
            select.select([ended], [], [], max(0.0, deadline - time.monotonic()))
            os.close(ended)
        assert time.monotonic() < deadline, f"still alive: {[_line(pid) for pid in alive]}"


def _line(pid: int) -> bytes:
    """Return a process's number and command line."""
    with contextlib.suppress(OSError):
        return b"%d %s" % (pid, Path(f"/proc/{pid}/cmdline").read_bytes())
    return b"%d" % pid
