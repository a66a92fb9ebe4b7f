"""A lock by which workers that share a device take turns.

While one worker has the device, others load modules, judge outputs in Python, or start. The lock is
on a file without a name, which the fork server makes and all workers inherit. The system releases
it when a process ends, however it ends. But a process that ends over a fault keeps the device busy
for a while, and a launch that begins in that time may seem to hang. So the process announces that
it is ending, and until the fork server reports its end, no launch exceeds its limit. A process that
never ends, because it is stuck in the driver, is ignored after :data:`GOING` seconds.

Other commands may use the same device, e.g. for a second search. Their workers take turns as well,
by a file that is named after the device.
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
"""The most processes at a time."""

_TIME = struct.Struct("d")
"""Time when a process announced its end, on the shared monotonic clock; 0: it did not."""

GOING = 20.0
"""Seconds after its announcement for which a process may keep the device busy."""


_SHARED = Path("/dev/shm")
"""Folder in which processes of one machine find each other's files."""


class DeviceLock:
    """The exclusive right to use the device."""

    def __init__(self) -> None:
        self._lock = os.memfd_create("gi-cuda-turns")
        self._shared: int | None = None
        self._going = mmap.mmap(-1, _SLOTS * _TIME.size)
        self._slots: dict[int, int] = {}
        self._inside = False

    def take(self) -> None:
        """Wait for the lock. A process that has it already keeps it."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        if self._shared is not None:
            fcntl.lockf(self._shared, fcntl.LOCK_EX)

    def give(self) -> None:
        """Release the lock; do nothing if this process does not have it."""
        if self._shared is not None:
            fcntl.lockf(self._shared, fcntl.LOCK_UN)
        fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def share(self, name: str) -> None:
        """Share the lock with all processes of this user that use the same device.

        A worker calls this after it has opened the device. Nothing changes if no file can be
        shared.

        Args:
            name: name of the device, unique in this machine.
        """
        path = _SHARED / f"gi-cuda-{os.getuid()}-{name.replace('/', '-')}"
        with suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(path, flags, mode=0o600)
            if os.fstat(file).st_uid == os.getuid():
                self._shared = file
            else:  # the file's owner could make us wait for ever
                os.close(file)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock inside the context. Contexts may be nested."""
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
        """Announce that the process in a slot is ending, and release the lock."""
        self._say(slot, time.monotonic())
        self.give()

    def disturbed(self) -> bool:
        """Tell whether a process is ending, so that the device may be busy cleaning up after it."""
        now = time.monotonic()
        return any(now - begun < GOING for (begun,) in _TIME.iter_unpack(self._going[:]) if begun)

    def _say(self, slot: int, begun: float) -> None:
        _TIME.pack_into(self._going, slot * _TIME.size, begun)

    # -- for the fork server ----------------------------------------------------------------------

    def free_slot(self) -> int:
        """Return a slot for the next process."""
        taken = set(self._slots.values())
        return next(slot for slot in range(_SLOTS) if slot not in taken)

    def taken_by(self, pid: int, slot: int) -> None:
        """Assign a slot to a process."""
        self._slots[pid] = slot

    def gone(self, pid: int) -> None:
        """Free the slot of a process that has ended and that the system has cleaned up after."""
        slot = self._slots.pop(pid)
        self._say(slot, 0.0)


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    """The place of a worker among those that share a device.

    Attributes:
        words: file descriptor that takes what the process says when it dies.
        lock: the lock on the device.
        number: the worker's slot number.
    """

    words: int
    lock: DeviceLock = field(default_factory=DeviceLock)
    number: int = 0
