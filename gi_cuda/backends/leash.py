"""What holds the processes that were started here, so that they can all be ended at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Stopped(Exception):
    """What a thread was to start or wait for is not wanted any more."""


class Held(Protocol):
    """A process, with all that it starts."""

    def kill(self) -> None:
        """Kill it; does not wait."""

    def end(self, seconds: float | None = None) -> None:
        """Kill it, and wait so many seconds for its end."""


class Leash:
    """What a thread's processes are held by: cutting it ends them all, from any thread.

    Nothing here takes a lock, which Ctrl-C could leave taken.

    Args:
        above: who cuts that one, cuts this.
    """

    def __init__(self, above: Leash | None = None) -> None:
        self._above = above
        self._processes: set[Held] = set()
        self._cut = False

    @property
    def is_cut(self) -> bool:
        """Whether nothing may be started any more."""
        return any(one._cut for one in self._upwards())

    def _upwards(self) -> Iterator[Leash]:
        one: Leash | None = self
        while one is not None:
            yield one
            one = one._above

    @contextmanager
    def held(self) -> Iterator[None]:
        """What this thread starts inside is held by this leash."""
        before = leash()
        _THREAD.leash = self
        try:
            yield
        finally:
            _THREAD.leash = before

    def cut(self) -> None:
        """Kill all that it holds; whoever waits for one of them is told, and starts no other."""
        self._cut = True
        for process in list(self._processes):
            process.kill()

    def enter(self, process: Held) -> None:
        """Hold a process that was just started."""
        for one in self._upwards():
            one._processes.add(process)
        if self.is_cut:  # who cut it meanwhile may not have seen this one
            process.kill()

    def leave(self, process: Held) -> None:
        """Let go of one that has ended."""
        for one in self._upwards():
            one._processes.discard(process)


_EVERYTHING = Leash()
_THREAD = threading.local()


def everything() -> Leash:
    """What holds all processes that are started here."""
    return _EVERYTHING


def leash() -> Leash:
    """What holds the processes that this thread starts."""
    held: Leash = getattr(_THREAD, "leash", _EVERYTHING)
    return held


def end_all(seconds: float) -> None:
    """End all processes that were started here and have not ended; there will be no others.

    Args:
        seconds: in which they have to be gone.
    """
    _EVERYTHING.cut()
    deadline = time.monotonic() + seconds
    for process in list(_EVERYTHING._processes):
        process.end(max(0.0, deadline - time.monotonic()))
