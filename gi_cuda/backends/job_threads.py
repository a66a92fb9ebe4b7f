"""Threads that do one job after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from gi_cuda.backends.leash import Leash, leash
from gi_cuda.backends.processes import GOING

Job = TypeVar("Job")
Result = TypeVar("Result")
Other = TypeVar("Other")

WAKING = 0.25
"""Seconds after which who waits for a job looks whether a signal came just before the waiting
began: that one would not end it."""


class JobThreads(Generic[Job, Result]):
    """Threads that share the jobs of one kind; leaving the context drops those not begun, and ends
    the processes that the others run.

    An executor's futures have locks in common with whoever waits for them. Ctrl-C, which may end
    the waiting at any point, can leave one locked, and the process then never ends. Here all goes
    through queues that a signal cannot leave half-way.

    Args:
        work: does a job.
        threads: how many work at a time.
        patience: seconds, at most, that leaving takes; who works longer is left alone, and ends
            with this process at the latest.
    """

    def __init__(
        self, work: Callable[[Job], Result], threads: int, patience: float = 2 * GOING
    ) -> None:
        self._work, self._patience = work, patience
        self._jobs: SimpleQueue[tuple[Job] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[Job, Result] | BaseException] = SimpleQueue()
        self._leash = Leash(leash())
        self._threads = [Thread(target=self._serve, daemon=True) for _ in range(threads)]

    def __enter__(self) -> JobThreads[Job, Result]:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        self._leash.cut()
        join(self._threads, self._patience)

    def submit(self, job: Job) -> None:
        """Have a job done when a thread is free."""
        self._jobs.put((job,))

    def next(self) -> tuple[Job, Result]:
        """Wait for the next job that ends; to be called once for each.

        Raises:
            BaseException: what the work raised.
        """
        return _taken(self._done)

    def done(self, limit: float = 0.0) -> Iterator[tuple[Job, Result]]:
        """The jobs that have ended; the first of them is waited for.

        Args:
            limit: so many seconds.

        Raises:
            BaseException: what the work raised.
        """
        with suppress(Empty):
            while True:
                one = self._done.get(timeout=limit) if limit else self._done.get_nowait()
                if isinstance(one, BaseException):
                    raise one
                yield one
                limit = 0.0

    def _serve(self) -> None:
        with self._leash.held():
            while (task := self._jobs.get()) is not None:
                (job,) = task
                try:
                    self._done.put((job, self._work(job)))
                except BaseException as error:
                    self._done.put(error)


def at_once(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """What jobs give that are done beside each other, in their order. Processes that they start may
    go on after that.

    Raises:
        BaseException: what one of them raised.
    """
    above = leash()
    done: SimpleQueue[tuple[int, Result] | BaseException] = SimpleQueue()

    def serve(at: int) -> None:
        with above.held():
            try:
                done.put((at, jobs[at]()))
            except BaseException as error:
                done.put(error)

    for at in range(len(jobs)):
        Thread(target=serve, args=(at,), daemon=True).start()
    found = dict(_taken(done) for _ in jobs)
    return [found[at] for at in range(len(jobs))]


def both(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """The same of two jobs of different kinds."""
    jobs: Sequence[Callable[[], Any]] = [one, other]
    first, second = at_once(jobs)
    return first, second


def meanwhile(job: Callable[[], object]) -> None:
    """Have a job done beside what follows. Who needs what it finds asks for that again, and is told
    then what went wrong."""
    above = leash()

    def serve() -> None:
        with above.held(), suppress(Exception):
            job()

    Thread(target=serve, daemon=True).start()


def _taken(done: SimpleQueue[Result | BaseException]) -> Result:
    """The next thing that was done."""
    one = None
    while one is None:
        with suppress(Empty):
            one = done.get(timeout=WAKING)
    if isinstance(one, BaseException):
        raise one
    return one


def join(threads: Iterable[Thread], patience: float = 2 * GOING) -> None:
    """Wait, so many seconds at most, for threads whose processes were ended. They compute for
    moments only; one that does not end all the same is left alone, and ends with this process."""
    deadline = time.monotonic() + patience
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
