"""A batch that is compiled while others look after what has been compiled already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread

from gi_cuda.backends.job_threads import join
from gi_cuda.backends.leash import Leash, leash
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
        self._leash = Leash(leash())
        self.news, self._tell = os.pipe()
        os.set_blocking(self.news, False)
        os.set_blocking(self._tell, False)
        self._thread = Thread(target=self._follow, name="build", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        last: BaseException | None = None
        try:
            with self._leash.held():
                for one in self._built:
                    self._put(one)
                    if self._stop.is_set():
                        break
        except BaseException as error:
            last = error
        self._put(last)

    def _put(self, news: Built | BaseException | None) -> None:
        self._queue.put(news)
        with suppress(BlockingIOError):  # it is full of older news that nobody took
            os.write(self._tell, b".")

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
        """Begin no more shards, and end the compilers of those that are not done."""
        self._stop.set()
        self._leash.cut()
        join([self._thread])
        if not self._thread.is_alive():  # it would tell of news
            os.close(self.news)
            os.close(self._tell)
