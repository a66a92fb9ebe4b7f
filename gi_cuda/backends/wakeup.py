"""A wake-up pipe: lets one thread interrupt another that waits for file descriptors."""

from __future__ import annotations

import os
from contextlib import suppress
from weakref import finalize


class WakeUp:
    """A pipe that wakes up a thread which waits for file descriptors.

    Attributes:
        heard: file descriptor that becomes readable after :meth:`ring`.
    """

    def __init__(self) -> None:
        self.heard, self._tell = os.pipe()
        os.set_blocking(self.heard, False)
        os.set_blocking(self._tell, False)
        self._close = finalize(self, _close, self.heard, self._tell)

    def ring(self) -> None:
        """Wake up the thread that waits."""
        with suppress(BlockingIOError):  # the pipe is full, so it is readable already
            os.write(self._tell, b".")

    def hush(self) -> None:
        """Empty the pipe. To be called before the thread takes what it was woken up for."""
        with suppress(BlockingIOError):
            os.read(self.heard, 65536)

    def close(self) -> None:
        """Close the pipe. Garbage collection does the same."""
        self._close()


def _close(*descriptors: int) -> None:
    for one in descriptors:
        os.close(one)
