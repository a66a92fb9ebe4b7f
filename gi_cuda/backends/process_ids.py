"""Find, kill and wait for processes by their numbers."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path


def signal_name(number: int) -> str:
    """Return the name of a signal; real-time signals have a number only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def wait_for_end(pids: Iterable[int], seconds: float) -> None:
    """Wait until processes have ended and released their resources.

    Args:
        pids: their numbers.
        seconds: the most seconds to wait.
    """
    deadline, watched = time.monotonic() + seconds, select.poll()
    left: set[int] = set()
    for pid in pids:
        with suppress(OSError, AttributeError):  # it is gone, or the system has no such thing
            left.add(descriptor := os.pidfd_open(pid))
            watched.register(descriptor, select.POLLIN)
    while left and (rest := deadline - time.monotonic()) > 0:
        for descriptor, _ in watched.poll(1e3 * rest):
            watched.unregister(descriptor)
            os.close(descriptor)
            left.remove(descriptor)
    for descriptor in left:
        os.close(descriptor)


def say_left_behind(pid: int) -> None:
    """Report on standard error a process that was killed but does not end."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        print(
            f"gi-cuda: process {pid} ({name}) was killed and does not end: it is stuck in a driver"
            " or in the file system; it is left behind",
            file=sys.stderr,
            flush=True,
        )


def kill_all(pids: Sequence[int]) -> None:
    """Kill processes, except those that are gone or belong to another user; do not wait."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def living(session: int) -> Iterator[int]:
    """Yield the numbers of a session's processes that still run; none if there is no /proc."""
    numbers = filter(str.isdecimal, os.listdir("/proc")) if os.path.isdir("/proc") else ()
    for pid in map(int, numbers):
        with suppress(OSError):
            if os.getsid(pid) != session:
                continue
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            state, *more = stat.rpartition(")")[2].split()
            threads = int(more[16])
            # The first thread of a process may have ended while another one is stuck.
            if state not in "ZX" or threads > 1:
                yield pid
