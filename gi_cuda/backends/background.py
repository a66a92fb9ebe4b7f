"""What comes of work that goes on while others look after what has come already."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

from gi_cuda.backends.bell import Bell
from gi_cuda.backends.job_threads import WAKING, join
from gi_cuda.backends.leash import Leash, leash

T = TypeVar("T")


class Background(Generic[T]):
    """Follows an iterator in a thread of its own.

    Args:
        work: what is followed.
        name: of the thread.

    Attributes:
        ended: whether all that came has been taken.
    """

    def __init__(self, work: Iterator[T], name: str = "build") -> None:
        self.ended = False
        self._work = work
        self._queue: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
        self._stop = Event()
        self._leash = Leash(leash())
        self._bell = Bell()
        self._thread = Thread(target=self._follow, name=name, daemon=True)
        self._thread.start()

    @property
    def news(self) -> int:
        """A descriptor that can be read when there is something to be taken."""
        return self._bell.heard

    def _follow(self) -> None:
        last: BaseException | None = None
        try:
            with self._leash.held():
                for one in self._work:
                    self._put((one,))
                    if self._stop.is_set():
                        break
                if isinstance(self._work, Generator):
                    self._work.close()  # here, where it went on
        except BaseException as error:
            last = error
        self._put(last)

    def _put(self, news: tuple[T] | BaseException | None) -> None:
        self._queue.put(news)
        self._bell.ring()

    def take(self) -> Iterator[T]:
        """What has come since the last call.

        Raises:
            BaseException: what the work raised.
        """
        self._bell.hush()
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
        """All that comes, which is waited for.

        Raises:
            BaseException: what the work raised.
        """
        while not self.ended:
            wait([self.news], WAKING)
            yield from self.take()

    def close(self) -> None:
        """Have it begin nothing more, and end the processes that it has started."""
        self._stop.set()
        self._leash.cut()
        join([self._thread])
        if not self._thread.is_alive():  # it would tell of news
            self._bell.close()
