"""Consume an iterator in a background thread, so that its caller can wait for other events too."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

from gi_cuda.backends.job_threads import WAKING, join
from gi_cuda.backends.process_registry import ProcessRegistry, process_registry
from gi_cuda.backends.wakeup import WakeUp

T = TypeVar("T")


class Background(Generic[T]):
    """Runs an iterator in a thread of its own and queues its items.

    Args:
        work: the iterator to run.
        name: the thread's name.

    Attributes:
        ended: whether the iterator is exhausted and all its items have been taken.
    """

    def __init__(self, work: Iterator[T], name: str = "build") -> None:
        self.ended = False
        self._work = work
        self._queue: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
        self._stop = Event()
        self._processes = ProcessRegistry(process_registry())
        self._wakeup = WakeUp()
        self._thread = Thread(target=self._follow, name=name, daemon=True)
        self._thread.start()

    @property
    def news(self) -> int:
        """File descriptor that becomes readable when an item, the end or an error is queued."""
        return self._wakeup.heard

    def _follow(self) -> None:
        last: BaseException | None = None
        try:
            with self._processes.held():
                for one in self._work:
                    self._put((one,))
                    if self._stop.is_set():
                        break
                if isinstance(self._work, Generator):
                    self._work.close()  # in the thread that ran it
        except BaseException as error:
            last = error
        self._put(last)

    def _put(self, news: tuple[T] | BaseException | None) -> None:
        self._queue.put(news)
        self._wakeup.ring()

    def take(self) -> Iterator[T]:
        """Yield the items that were queued since the last call, without waiting.

        Raises:
            BaseException: the iterator raised this.
        """
        self._wakeup.hush()
        with suppress(Empty):
            while not self.ended:
                one = self._queue.get_nowait()
                if isinstance(one, BaseException):
                    raise one
                if one is None:
                    self.ended = True
                else:
                    yield one[0]

    def each(self) -> Iterator[T]:
        """Yield all items, and wait for those that are not there yet.

        Raises:
            BaseException: the iterator raised this.
        """
        while not self.ended:
            wait([self.news], WAKING)
            yield from self.take()

    def close(self) -> None:
        """Stop the iterator after its current item, and kill the processes that it has started."""
        self._stop.set()
        self._processes.cut()
        join([self._thread])
        if not self._thread.is_alive():  # a living thread still writes to the pipe
            self._wakeup.close()
