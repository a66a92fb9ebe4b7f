"""A batch that is compiled while others look after what has been compiled already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread

from gi_cuda.backends.protocol.variants import Built


class BackgroundBuild:
    """Follows a build in a thread of its own.

    Iterating gives what has been built, and None while there is nothing new yet.

    Args:
        built: what :meth:`~gi_cuda.backends.protocol.variants.Compiler.compile` gives.

    Attributes:
        seconds: wall time until the build ended; up to now while it goes on.
    """

    def __init__(self, built: Iterator[Built]) -> None:
        self._built = built
        self._queue: SimpleQueue[Built | BaseException | None] = SimpleQueue()
        self._stop = Event()
        self._begun = time.perf_counter()
        self._ended: float | None = None
        self._thread = Thread(target=self._follow, name="build", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        try:
            for one in self._built:
                self._queue.put(one)
                if self._stop.is_set():
                    break
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)
        finally:
            self._ended = time.perf_counter()

    @property
    def seconds(self) -> float:
        return (self._ended or time.perf_counter()) - self._begun

    def __iter__(self) -> Iterator[Built | None]:
        while True:
            try:
                one = self._queue.get_nowait()
            except Empty:
                yield None
                continue
            if one is None:
                return
            if isinstance(one, BaseException):
                raise one
            yield one

    def close(self) -> None:
        """Begin no more shards, and wait for those that are being compiled."""
        self._stop.set()
        self._thread.join()
