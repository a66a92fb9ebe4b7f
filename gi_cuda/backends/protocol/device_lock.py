"""Workers that share a device take turns at it.

While one has the device to itself, others load modules, judge answers in Python, or start. The lock
is on a file without a name, which the fork server makes and all workers inherit: the system takes
it from a process that ends, however it ends. But a process that ends over a fault leaves the device
busy for a while, and a launch that begins in that time may seem to hang. So it says when it is
going, and until the fork server says that it is gone, no launch is over its limit. One that never
goes, since it is stuck in the driver, keeps others from nothing after a while.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_SLOTS = 256
"""Processes that there may be at a time."""

_TIME = struct.Struct("d")
"""When a process said that it is going, on the clock that all share; 0: it did not."""

GOING = 20.0
"""Seconds in which a process that is going is gone, or else never will be."""


class DeviceLock:
    """The right to use the device; at most one process has it."""

    def __init__(self) -> None:
        self._lock = os.memfd_create("gi-cuda-turns")
        self._going = mmap.mmap(-1, _SLOTS * _TIME.size)
        self._slots: dict[int, int] = {}

    def take(self) -> None:
        """Wait for the turn. It cannot be had twice: who has it already has it still."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)

    def give(self) -> None:
        """Let others have it; nothing happens where this process did not have it."""
        fcntl.lockf(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The device is this process's inside."""
        self.take()
        try:
            yield
        finally:
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
