"""Confine PTX in helper processes, to keep this work out of the process that searches.

A helper (see :mod:`gi_cuda.backends.helpers`) gets paths of files, confines the files, and caches
the confined form of lines.
"""

from __future__ import annotations

import os
from pathlib import Path

from gi_cuda.backends.compile.process import read_text, write_text
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.helpers import GONE, HelperPool, serve

_CORES_FOR_ONE = 8
"""Number of cores whose compilers one helper can serve."""

_IDLE = 60.0
"""Seconds after which an idle helper ends."""

_PATIENCE = 30.0
"""Seconds to wait for a helper's answer, which takes hundredths of a second."""

_HELPERS = HelperPool(__name__, 1 + (os.cpu_count() or 1) // _CORES_FOR_ONE, _PATIENCE)


def write_confined(path: Path, text: str) -> None:
    """Write the confined form of a module. Any number of threads may do this at once."""
    write_text(path, text)
    try:
        _HELPERS.ask(str(path.resolve()))
    except GONE:  # what is wrong with it, if anything is, comes out here
        write_text(path, confined_module(text))


def _confine(path: str) -> bool:
    """Confine a file. Return True, since a helper's answer must not be None."""
    write_text(Path(path), confined_module(read_text(Path(path))))
    return True


if __name__ == "__main__":
    serve(_confine, _IDLE)
