"""Workers that share a device take turns at it.

While one has the device to itself, others load modules, judge answers in Python, or start. The lock
is on a file without a name, which the fork server makes and all workers inherit: the system takes
it from a process that ends, however it ends. But a process that ends over a fault leaves the device
busy for a while, and a launch that begins in that time may seem to hang. So it says when it is
going, and until the fork server says that it is gone, no launch is over its limit. One that never
goes, since it is stuck in the driver, keeps others from nothing after a while.

Other commands may use the same device: a search may run beside another one. Their workers take
turns as well, by a file that has the device's name.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_SLOTS = 256
"""Processes that there may be at a time."""

_TIME = struct.Struct("d")
"""When a process said that it is going, on the clock that all share; 0: it did not."""

GOING = 20.0
"""Seconds in which a process that is going is gone, or else never will be."""


_SHARED = Path("/dev/shm")
"""Where processes of one machine find each other's files."""


class DeviceLock:
    """The right to use the device; at most one process has it."""

    def __init__(self) -> None:
        self._lock = os.memfd_create("gi-cuda-turns")
        self._shared: int | None = None
        self._going = mmap.mmap(-1, _SLOTS * _TIME.size)
        self._slots: dict[int, int] = {}
        self._inside = False

    def take(self) -> None:
        """Wait for the turn. It cannot be had twice: who has it already has it still."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        if self._shared is not None:
            fcntl.lockf(self._shared, fcntl.LOCK_EX)

    def give(self) -> None:
        """Let others have it; nothing happens where this process did not have it."""
        if self._shared is not None:
            fcntl.lockf(self._shared, fcntl.LOCK_UN)
        fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def share(self, name: str) -> None:
        """Take turns, from now on, with all processes of this user that call their device the same;
        for a worker, which has opened it. Nothing happens where no file can be shared.

        Args:
            name: of the device, which no other one of this machine has.
        """
        path = _SHARED / f"gi-cuda-{os.getuid()}-{name.replace('/', '-')}"
        with suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(path, flags, mode=0o600)
            if os.fstat(file).st_uid == os.getuid():
                self._shared = file
            else:  # somebody could have us wait for ever
                os.close(file)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The device is this process's inside; a turn within a turn is the same one."""
        if self._inside:
            yield
            return
        self.take()
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
            self.give()

    def leave(self, slot: int) -> None:
        """Say that the process in a slot is going, and let others have its turn."""
        self._say(slot, time.monotonic())
        self.give()

    def disturbed(self) -> bool:
        """Whether a process is going, and the device may be busy with clearing it away."""
        now = time.monotonic()
        return any(now - begun < GOING for (begun,) in _TIME.iter_unpack(self._going[:]) if begun)

    def _say(self, slot: int, begun: float) -> None:
        _TIME.pack_into(self._going, slot * _TIME.size, begun)

    # -- for the fork server ----------------------------------------------------------------------

    def free_slot(self) -> int:
        """A slot for the next process."""
        taken = set(self._slots.values())
        return next(slot for slot in range(_SLOTS) if slot not in taken)

    def taken_by(self, pid: int, slot: int) -> None:
        """Remember who has a slot."""
        self._slots[pid] = slot

    def gone(self, pid: int) -> None:
        """The process has ended, and the system has cleaned up after it."""
        slot = self._slots.pop(pid)
        self._say(slot, 0.0)


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    """A worker's place among others.

    Attributes:
        words: file descriptor that takes what the process says when it dies.
        lock: how it shares the device with them.
        number: its number among them.
    """

    words: int
    lock: DeviceLock = field(default_factory=DeviceLock)
    number: int = 0
