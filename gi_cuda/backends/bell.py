"""A bell between threads, which who waits for descriptors can hear."""

from __future__ import annotations

import os
from contextlib import suppress
from weakref import finalize


class Bell:
    """Tells a thread that waits for descriptors that there is news.

    Attributes:
        heard: a descriptor that can be read once it was rung.
    """

    def __init__(self) -> None:
        self.heard, self._tell = os.pipe()
        os.set_blocking(self.heard, False)
        os.set_blocking(self._tell, False)
        self._close = finalize(self, _close, self.heard, self._tell)

    def ring(self) -> None:
        """There is news."""
        with suppress(BlockingIOError):  # it is full of older news that nobody took
            os.write(self._tell, b".")

    def hush(self) -> None:
        """The news are about to be taken."""
        with suppress(BlockingIOError):
            os.read(self.heard, 65536)

    def close(self) -> None:
        """Nobody will ring or hear it any more; at the latest that is when it is forgotten."""
        self._close()


def _close(*descriptors: int) -> None:
    for one in descriptors:
        os.close(one)
