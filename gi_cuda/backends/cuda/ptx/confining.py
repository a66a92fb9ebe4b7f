"""Processes that confine PTX, so that the one that searches need not.

One of them (see :mod:`gi_cuda.backends.helpers`) confines files of which it is told the paths, and
remembers what became of lines.
"""

from __future__ import annotations

import os
from pathlib import Path

from gi_cuda.backends.compile.process import read_text, write_text
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.helpers import GONE, HelperPool, serve

_CORES_FOR_ONE = 8
"""Compilers on so many cores leave one such process little to do."""

_IDLE = 60.0
"""Seconds after which one ends that has nothing to do."""

_PATIENCE = 30.0
"""Seconds after which one is given up that does not answer; it takes hundredths of one."""

_HELPERS = HelperPool(__name__, 1 + (os.cpu_count() or 1) // _CORES_FOR_ONE, _PATIENCE)


def write_confined(path: Path, text: str) -> None:
    """Write a module's text, made to do no harm; any number of threads may do so at once."""
    write_text(path, text)
    try:
        _HELPERS.ask(str(path.resolve()))
    except GONE:  # what is wrong with it, if anything is, comes out here
        write_text(path, confined_module(text))


def _confine(path: str) -> bool:
    """Confine a file."""
    write_text(Path(path), confined_module(read_text(Path(path))))
    return True


if __name__ == "__main__":
    serve(_confine, _IDLE)
