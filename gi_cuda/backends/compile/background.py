"""A batch that is compiled while others look after what has been compiled already."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread

from gi_cuda.backends.protocol.variants import Built


class BackgroundBuild:
    """Follows a build in a thread of its own.

    Args:
        built: what :meth:`~gi_cuda.backends.protocol.variants.Compiler.compile` gives.

    Attributes:
        news: a descriptor that can be read when there is something to be taken.
        ended: whether all that was built has been taken.
    """

    def __init__(self, built: Iterator[Built]) -> None:
        self.ended = False
        self._built = built
        self._queue: SimpleQueue[Built | BaseException | None] = SimpleQueue()
        self._stop = Event()
        self.news, self._tell = os.pipe()
        os.set_blocking(self.news, False)
        os.set_blocking(self._tell, False)
        self._finished: float | None = None
        self._thread = Thread(target=self._follow, name="build", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        last: BaseException | None = None
        try:
            for one in self._built:
                self._put(one)
                if self._stop.is_set():
                    break
        except BaseException as error:
            last = error
        self._finished = time.perf_counter()
        self._put(last)

    def _put(self, news: Built | BaseException | None) -> None:
        self._queue.put(news)
        with suppress(BlockingIOError):  # it is full of older news that nobody took
            os.write(self._tell, b".")

    @property
    def finished(self) -> float:
        """When the build ended, by :func:`time.perf_counter`; now while it goes on."""
        return self._finished or time.perf_counter()

    def take(self) -> Iterator[Built]:
        """What has been built since the last call.

        Raises:
            BaseException: what the build raised.
        """
        with suppress(BlockingIOError):
            os.read(self.news, 65536)
        with suppress(Empty):
            while not self.ended:
                one = self._queue.get_nowait()
                if isinstance(one, BaseException):
                    raise one
                if one is None:
                    self.ended = True
                else:
                    yield one

    def close(self) -> None:
        """Begin no more shards, and wait for those that are being compiled."""
        self._stop.set()
        self._thread.join()
        os.close(self.news)
        os.close(self._tell)
