"""Confine PTX in helper processes, to keep this work out of the process that searches.

A helper (see :mod:`gi_cuda.backends.helpers`) gets paths of files, confines the files, and caches
the confined form of lines.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from gi_cuda.backends.compile.process import read_text, write_text
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.helpers import GONE, Helper, serve

_CORES_FOR_ONE = 8
"""Number of cores whose compilers one helper can serve."""

_IDLE = 60.0
"""Seconds after which an idle helper ends."""

_PATIENCE = 30.0
"""Seconds to wait for a helper's answer, which takes hundredths of a second."""

_FREE: SimpleQueue[Helper | None] = SimpleQueue()
"""Idle helpers; None for each helper that may still be started."""
for _ in range(1 + (os.cpu_count() or 1) // _CORES_FOR_ONE):
    _FREE.put(None)


def write_confined(path: Path, text: str) -> None:
    """Write the confined form of a module. Any number of threads may do this at once."""
    write_text(path, text)
    found = _FREE.get()
    done = False
    try:
        with suppress(*GONE):
            found = found or _started()
            done = found.ask(str(path.resolve()), _PATIENCE)
    finally:
        if found and not done:
            found.close()
        _FREE.put(found if done else None)
    if not done:  # do it here, which raises the error if there is one
        write_text(path, confined_module(text))


@atexit.register
def _close() -> None:
    """End the idle helpers."""
    with suppress(Empty):
        while True:
            if found := _FREE.get_nowait():
                found.close()


def _started() -> Helper:
    helper = Helper(__name__)
    helper.give_way()
    return helper


def _confine(path: str) -> bool:
    """Confine a file. Return True, since a helper's answer must not be None."""
    write_text(Path(path), confined_module(read_text(Path(path))))
    return True


if __name__ == "__main__":
    serve(_confine, _IDLE)
