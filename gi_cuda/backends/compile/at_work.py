"""How many compiler processes are at work, and who waits for one of them to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Lock
from typing import NamedTuple

from gi_cuda.backends.job_threads import WAKING
from gi_cuda.backends.leash import Stopped, leash


class _Waiting(NamedTuple):
    """What waits for its turn: which among others, and how many may be at work beside it."""

    rank: int
    jobs: int


class AtWork:
    """Counts the shards that are being compiled, of all builds of compilers that share it, and has
    them begin in turn.

    Of builds that share the processors all would end at the end; one after the other, what the
    first has built runs while the next is compiled. What has a lower rank goes before what came
    sooner: it is nearer to its end. Only threads that a signal does not come to
    take the lock, so that Ctrl-C cannot leave it taken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Event, _Waiting] = {}
        self._shards: set[Event] = set()

    @property
    def number(self) -> int:
        """Of shards, each of which keeps a processor busy."""
        return len(self._shards)

    @contextmanager
    def one(self, jobs: int, rank: int = 0) -> Iterator[None]:
        """One more is compiled inside, once it is its turn and less than so many are.

        Raises:
            Stopped: it is not wanted any more.
        """
        turn = Event()
        with self._lock:
            self._waiting[turn] = _Waiting(rank, jobs)
            self._let_in()
        try:
            while not turn.wait(WAKING):
                if leash().is_cut:
                    raise Stopped
            yield
        finally:
            with self._lock:
                self._waiting.pop(turn, None)
                self._shards.discard(turn)
                self._let_in()

    def _let_in(self) -> None:
        while self._waiting:
            turn = min(self._waiting, key=lambda one: self._waiting[one].rank)  # the first of them
            if len(self._shards) >= self._waiting[turn].jobs:
                return
            del self._waiting[turn]
            self._shards.add(turn)
            turn.set()


@dataclass(frozen=True, slots=True)
class Turns:
    """How the shards of one build come to their turns.

    Attributes:
        at_work: has them begin.
        jobs: how many may be at work at a time, those of other builds among them.
        rank: theirs.
    """

    at_work: AtWork
    jobs: int
    rank: int = 0

    @property
    def taken(self) -> int:
        """How many of the jobs shards have now."""
        return min(self.at_work.number, self.jobs)

    def one(self) -> AbstractContextManager[None]:
        """See :meth:`AtWork.one`."""
        return self.at_work.one(self.jobs, self.rank)
