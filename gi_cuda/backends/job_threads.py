"""Pools of threads that run jobs, and end promptly on Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from gi_cuda.backends.process_registry import ProcessRegistry, process_registry
from gi_cuda.backends.processes import GOING

Job = TypeVar("Job")
Result = TypeVar("Result")
Other = TypeVar("Other")

WAKING = 0.25
"""Seconds after which a thread that waits for a job wakes up to handle signals.

A signal that came just before the waiting began would not end the waiting.
"""


class JobThreads(Generic[Job, Result]):
    """A pool of threads for jobs of one kind.

    Leaving the context drops the jobs that have not begun, and kills the processes that the other
    jobs run.

    An executor of ``concurrent.futures`` shares locks with the threads that wait for its futures.
    Ctrl-C can interrupt the waiting at any point and leave a lock taken; then the process never
    ends. Here everything passes through queues, which a signal cannot leave in an inconsistent
    state.

    Args:
        work: does a job.
        threads: number of threads.
        patience: the most seconds that leaving the context takes. A thread that works longer is
            abandoned; it ends with this process at the latest.
    """

    def __init__(
        self, work: Callable[[Job], Result], threads: int, patience: float = 2 * GOING
    ) -> None:
        self._work, self._patience = work, patience
        self._jobs: SimpleQueue[tuple[Job] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[Job, Result] | BaseException] = SimpleQueue()
        self._processes = ProcessRegistry(process_registry())
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
        self._processes.cut()
        join(self._threads, self._patience)

    def submit(self, job: Job) -> None:
        """Queue a job for the next free thread."""
        self._jobs.put((job,))

    def next(self) -> tuple[Job, Result]:
        """Wait for the next job that ends. Call it once for each job.

        Raises:
            BaseException: the job raised this.
        """
        return _taken(self._done)

    def done(self, limit: float = 0.0) -> Iterator[tuple[Job, Result]]:
        """Yield the jobs that have ended, with their results.

        Args:
            limit: seconds to wait for the first of them.

        Raises:
            BaseException: a job raised this.
        """
        with suppress(Empty):
            while True:
                one = self._done.get(timeout=limit) if limit else self._done.get_nowait()
                if isinstance(one, BaseException):
                    raise one
                yield one
                limit = 0.0

    def _serve(self) -> None:
        with self._processes.held():
            while (task := self._jobs.get()) is not None:
                (job,) = task
                try:
                    self._done.put((job, self._work(job)))
                except BaseException as error:
                    self._done.put(error)


def at_once(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run jobs at the same time and return their results in the order of the jobs.

    Processes that the jobs start may outlive this call.

    Raises:
        BaseException: one of the jobs raised this.
    """
    above = process_registry()
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
    """Run two jobs of different kinds at the same time, as :func:`at_once`."""
    jobs: Sequence[Callable[[], Any]] = [one, other]
    first, second = at_once(jobs)
    return first, second


def meanwhile(job: Callable[[], object]) -> None:
    """Start a job in a thread and do not wait for it; errors are dropped.

    It fills a cache ahead of time: code that needs the result asks for it again, and gets the error
    then.
    """
    above = process_registry()

    def serve() -> None:
        with above.held(), suppress(Exception):
            job()

    Thread(target=serve, daemon=True).start()


def _taken(done: SimpleQueue[Result | BaseException]) -> Result:
    """Wait for the next result. Raise it if it is an exception."""
    one = None
    while one is None:
        with suppress(Empty):
            one = done.get(timeout=WAKING)
    if isinstance(one, BaseException):
        raise one
    return one


def join(threads: Iterable[Thread], patience: float = 2 * GOING) -> None:
    """Wait for threads whose processes were killed.

    Such threads only compute for moments. One that does not end is abandoned; it ends with this
    process.

    Args:
        patience: the most seconds to wait for all of them.
    """
    deadline = time.monotonic() + patience
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
