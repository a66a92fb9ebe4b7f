"""Helper processes that answer requests over a socket, to keep work out of this process.

A helper runs as ``python -m MODULE FD``, and its module calls :func:`serve`. It ends when the other
end of the socket is closed, for whatever reason, or when no request came for a while.
"""

from __future__ import annotations

import atexit
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Final

from gi_cuda.backends.process_registry import all_processes
from gi_cuda.backends.processes import Process

GONE: Final = (EOFError, OSError)
"""Exceptions raised when a helper has ended, does not answer, or cannot be started."""


class Helper:
    """A helper process, with this process's end of the socket to it.

    Args:
        module: the module that the helper runs.

    Raises:
        OSError: the helper cannot be started.
    """

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs, all_processes().held():
            self._process = Process(
                [sys.executable, "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # this process reports errors
            )
        self._line = Connection(ours.detach())

    def give_way(self) -> None:
        """Lower the helper's scheduling priority."""
        self._process.give_way()

    def tell(self, what: Any) -> None:
        """Send a message that the helper does not answer.

        Raises:
            Exception: one of :data:`GONE`.
        """
        self._line.send(what)

    def ask(self, what: Any, patience: float) -> Any:
        """Send a request and return the helper's answer.

        Args:
            patience: seconds to wait for the answer.

        Raises:
            Exception: one of :data:`GONE`.
        """
        self._line.send(what)
        if not self._line.poll(patience):
            raise TimeoutError
        return self._line.recv()

    def close(self) -> None:
        """Close the socket and end the helper."""
        self._line.close()
        self._process.end()


class HelperPool:
    """Helpers of one module, which any number of threads ask; they end with this process.

    Args:
        module: that each runs.
        most: how many there are at a time.
        patience: seconds after which one is given up that does not answer.
    """

    def __init__(self, module: str, most: int, patience: float) -> None:
        self._module, self._patience = module, patience
        self._free: SimpleQueue[Helper | None] = SimpleQueue()
        for _ in range(most):
            self._free.put(None)  # one that could be started
        atexit.register(self._close)

    def ask(self, what: Any) -> Any:
        """Return the answer of one that has nothing else to do.

        Raises:
            Exception: one of :data:`GONE`.
        """
        found, answer = self._free.get(), None
        try:
            found = found or self._started()
            answer = found.ask(what, self._patience)
        finally:
            if found and answer is None:
                found.close()
            self._free.put(found if answer is not None else None)
        return answer

    def _started(self) -> Helper:
        helper = Helper(self._module)
        helper.give_way()
        return helper

    def _close(self) -> None:
        """End those that have nothing to do."""
        with suppress(Empty):
            while True:
                if found := self._free.get_nowait():
                    found.close()


def serve(answer: Callable[[Any], Any], idle: float) -> None:
    """Answer requests on the socket whose descriptor is the first command-line argument.

    Args:
        answer: makes the answer to a request; None if no answer is sent.
        idle: seconds without a request after which the helper ends.
    """
    with suppress(*GONE), Connection(int(sys.argv[1])) as line:
        while line.poll(idle):
            answered = answer(line.recv())
            if answered is not None:
                line.send(answered)
