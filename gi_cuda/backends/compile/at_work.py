"""How many compiler processes are at work, and who waits for one of them to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock

from gi_cuda.backends.job_threads import WAKING
from gi_cuda.backends.leash import Stopped, leash


class AtWork:
    """Counts the shards that are being compiled, of all builds of compilers that share it, and has
    them begin in turn.

    Of builds that share the processors all would end at the end; one after the other, what the
    first has built runs while the next is compiled. Only threads that a signal does not come to
    take the lock, so that Ctrl-C cannot leave it taken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Event, int] = {}
        self._shards: set[Event] = set()

    @property
    def number(self) -> int:
        """Of shards, each of which keeps a processor busy."""
        return len(self._shards)

    @contextmanager
    def one(self, jobs: int) -> Iterator[None]:
        """One more is compiled inside, once it is its turn and less than so many are.

        Raises:
            Stopped: it is not wanted any more.
        """
        turn = Event()
        with self._lock:
            self._waiting[turn] = jobs
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
            turn, jobs = next(iter(self._waiting.items()))
            if len(self._shards) >= jobs:
                return
            del self._waiting[turn]
            self._shards.add(turn)
            turn.set()
