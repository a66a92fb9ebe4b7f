"""Process groups by thread: kill all processes that a thread, or this command, has started."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Stopped(Exception):
    """The process that a thread wants to start or wait for is no longer wanted."""


class Held(Protocol):
    """A process with all processes that it starts."""

    def kill(self) -> None:
        """Kill the process; do not wait."""

    def end(self, seconds: float | None = None) -> None:
        """Kill the process and wait, up to ``seconds``, for its end."""


class ProcessRegistry:
    """A group of processes that :meth:`cut` kills all at once, from any thread.

    It takes no lock, since Ctrl-C could leave a lock taken.

    Args:
        above: the parent group. Cutting the parent cuts this group too.
    """

    def __init__(self, above: ProcessRegistry | None = None) -> None:
        self._above = above
        self._processes: set[Held] = set()
        self._cut = False

    @property
    def is_cut(self) -> bool:
        """Tell whether this group or one above it was cut, so that nothing may be started in it."""
        return any(one._cut for one in self._upwards())

    def _upwards(self) -> Iterator[ProcessRegistry]:
        one: ProcessRegistry | None = self
        while one is not None:
            yield one
            one = one._above

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put all processes that this thread starts inside the context into this group."""
        before = process_registry()
        _THREAD.process_registry = self
        try:
            yield
        finally:
            _THREAD.process_registry = before

    def cut(self) -> None:
        """Kill the group's processes. Threads that wait for one of them get :class:`Stopped`."""
        self._cut = True
        for process in list(self._processes):
            process.kill()

    def enter(self, process: Held) -> None:
        """Add a process that was just started."""
        for one in self._upwards():
            one._processes.add(process)
        if self.is_cut:  # a cut in between may have missed this process
            process.kill()

    def leave(self, process: Held) -> None:
        """Remove a process that has ended."""
        for one in self._upwards():
            one._processes.discard(process)


_EVERYTHING = ProcessRegistry()
_THREAD = threading.local()


def all_processes() -> ProcessRegistry:
    """Return the group of all processes that this command has started."""
    return _EVERYTHING


def process_registry() -> ProcessRegistry:
    """Return the group of the processes that this thread starts."""
    held: ProcessRegistry = getattr(_THREAD, "process_registry", _EVERYTHING)
    return held


def end_all(seconds: float) -> None:
    """End all processes that this command has started, and let it start no others.

    Args:
        seconds: time within which the processes have to end.
    """
    _EVERYTHING.cut()
    deadline = time.monotonic() + seconds
    for process in list(_EVERYTHING._processes):
        process.end(max(0.0, deadline - time.monotonic()))
