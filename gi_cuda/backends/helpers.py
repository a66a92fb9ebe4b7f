"""Processes of this program that answer others on a line, so that these need not do it themselves.

One runs as ``python -m MODULE FD``, where the module calls :func:`serve`. It ends when nobody is
left to ask it, however that came, or when nobody has for a while.
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

from gi_cuda.backends.leash import everything
from gi_cuda.backends.processes import Process

GONE: Final = (EOFError, OSError)
"""How it shows that a helper ended, does not answer, or cannot be started."""


class Helper:
    """This process's end of the line to one.

    Args:
        module: that it runs.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs, everything().held():
            self._process = Process(
                [sys.executable, "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what is wrong is said here
            )
        self._line = Connection(ours.detach())

    def give_way(self) -> None:
        """From now on it gives way to others."""
        self._process.give_way()

    def tell(self, what: Any) -> None:
        """Tell it something that it does not answer.

        Raises:
            Exception: one of :data:`GONE`.
        """
        self._line.send(what)

    def ask(self, what: Any, patience: float) -> Any:
        """Return its answer to something.

        Args:
            patience: seconds after which it is given up.

        Raises:
            Exception: one of :data:`GONE`.
        """
        self._line.send(what)
        if not self._line.poll(patience):
            raise TimeoutError
        return self._line.recv()

    def close(self) -> None:
        """End the process."""
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
    """Answer on the line that the command line names. What is answered with None is not answered.

    Args:
        idle: seconds after which nobody is waited for any more.
    """
    with suppress(*GONE), Connection(int(sys.argv[1])) as line:
        while line.poll(idle):
            answered = answer(line.recv())
            if answered is not None:
                line.send(answered)
