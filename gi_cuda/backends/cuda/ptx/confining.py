"""Processes that confine PTX, so that the one that searches need not.

One of them runs as ``python -m gi_cuda.backends.cuda.ptx.confining FD``. It confines files of which
it is told the paths, and remembers what became of lines. It ends when nobody is left to tell it of
any, however that came, or when nobody has for a while.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue

from gi_cuda.backends.compile.process import read_text, write_text
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.leash import everything
from gi_cuda.backends.processes import Process

_CORES_FOR_ONE = 8
"""Compilers on so many cores leave one such process little to do."""

_IDLE = 60.0
"""Seconds after which one ends that has nothing to do."""

_PATIENCE = 30.0
"""Seconds after which one is given up that does not answer; it takes hundredths of one."""

_GONE = (EOFError, OSError)
"""How it shows that the process at the other end of the line ended, or that none can be started."""


class _Confiner:
    """This process's end of the line to one of them."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, everything().held():
            self._process = Process(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what is wrong is said here
            )
        self._process.give_way()
        self._line = Connection(ours.detach())

    def confine(self, path: Path) -> bool:
        """Confine a file; whether that was done."""
        self._line.send(str(path.resolve()))
        return self._line.poll(_PATIENCE) and bool(self._line.recv())

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.end()


_FREE: SimpleQueue[_Confiner | None] = SimpleQueue()
"""Those that have nothing to do; None for each that could be started."""
for _ in range(1 + (os.cpu_count() or 1) // _CORES_FOR_ONE):
    _FREE.put(None)


def write_confined(path: Path, text: str) -> None:
    """Write a module's text, made to do no harm; any number of threads may do so at once."""
    write_text(path, text)
    found = _FREE.get()
    done = False
    try:
        with suppress(*_GONE):
            found = found or _Confiner()
            done = found.confine(path)
    finally:
        if found and not done:
            found.close()
        _FREE.put(found if done else None)
    if not done:  # what is wrong with it, if anything is, comes out here
        write_text(path, confined_module(text))


@atexit.register
def _close() -> None:
    """End those that have nothing to do."""
    with suppress(Empty):
        while True:
            if found := _FREE.get_nowait():
                found.close()


def _serve(line: Connection) -> None:
    """Confine what one is told of."""
    with suppress(*_GONE):
        while line.poll(_IDLE):
            path = Path(line.recv())
            write_text(path, confined_module(read_text(path)))
            line.send(True)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
