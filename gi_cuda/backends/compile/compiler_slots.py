"""Limit the number of compiler processes at a time, and let shards start in order of priority."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from typing import NamedTuple

from gi_cuda.backends.job_threads import WAKING
from gi_cuda.backends.process_registry import Stopped, process_registry


class _Waiting(NamedTuple):
    """A shard that waits to start: its rank, and the limit of shards that may run at a time."""

    rank: int
    jobs: int


class CompilerSlots:
    """A counting semaphore with priorities for the shards of all builds that share it.

    If builds shared the processors evenly, all would end at the end. One after the other, the first
    build's variants run while the next build is compiled. Shards with a lower rank go first: their
    build is nearer to its end. Only threads that receive no signals take the lock, so Ctrl-C cannot
    leave it taken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Event, _Waiting] = {}
        self._shards: set[Event] = set()

    @property
    def number(self) -> int:
        """Number of shards that are being compiled. Each keeps a processor busy."""
        return len(self._shards)

    @contextmanager
    def one(self, jobs: int, rank: int = 0) -> Iterator[None]:
        """Wait for a turn, and count as a shard being compiled inside the context.

        Args:
            jobs: the most shards at a time, including this one.
            rank: shards with lower ranks go first.

        Raises:
            Stopped: the shard is no longer wanted.
        """
        turn = Event()
        with self._lock:
            self._waiting[turn] = _Waiting(rank, jobs)
            self._let_in()
        try:
            while not turn.wait(WAKING):
                if process_registry().is_cut:
                    raise Stopped
            yield
        finally:
            with self._lock:
                self._waiting.pop(turn, None)
                self._shards.discard(turn)
                self._let_in()

    def _let_in(self) -> None:
        while self._waiting:
            # Of equal ranks, min takes the one that came first.
            turn = min(self._waiting, key=lambda one: self._waiting[one].rank)
            if len(self._shards) >= self._waiting[turn].jobs:
                return
            del self._waiting[turn]
            self._shards.add(turn)
            turn.set()


@dataclass(frozen=True, slots=True)
class Turns:
    """The priority and the limit of one build's shards.

    Attributes:
        at_work: the semaphore.
        jobs: the most shards at a time, including those of other builds.
        rank: rank of the build's shards.
    """

    at_work: CompilerSlots
    jobs: int
    rank: int = 0

    @property
    def taken(self) -> int:
        """Number of the jobs that shards occupy now."""
        return min(self.at_work.number, self.jobs)

    def one(self) -> AbstractContextManager[None]:
        """Wait for a turn; see :meth:`CompilerSlots.one`."""
        return self.at_work.one(self.jobs, self.rank)
