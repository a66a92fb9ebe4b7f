"""Workers that share a device take turns at it.

While one has the device to itself, others load modules, judge answers in Python, or start. Whose
turn it is, is a lock on a file without a name, which the zygote makes and all workers inherit. The
system takes the lock from a process that ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


class Turns:
    """The right to use the device; at most one process has it."""

    def __init__(self) -> None:
        self._lock = os.memfd_create("gi-cuda-turns")

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


@dataclass(frozen=True, slots=True)
class Place:
    """A worker's place among others.

    Attributes:
        words: file descriptor that takes what the process says when it dies.
        turns: how it shares the device with them.
    """

    words: int
    turns: Turns = field(default_factory=Turns)
