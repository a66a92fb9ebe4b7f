"""Remove files in the background, and clean up when this process ends, even if it is killed.

A process of its own does the clean-up: a shell that waits for the end of this process. Signals to
this process do not reach it, and signals that come while it works do not interrupt it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from gi_cuda.backends.processes import undisturbed

_WAIT = "trap '' HUP INT TERM; read -r _;"

REMOVE = """
n=0
until rm -rf -- "$1" 2>/dev/null || [ $n -ge 100 ]; do
    n=$((n+1)); sleep 0.1  # what was just killed, or will end by itself, still writes into it
done
"""
"""Shell script that removes the first path."""

SETTLE = 'if [ -e "$1" ]; then rm -rf -- "$2"; else mv -- "$2" "$1"; fi'
"""Shell script that ends a replacement of the first path, whose old content is at the second.

If there is something at the first path, the old content is removed. Else it is moved back.
"""


class _Janitor:
    """A shell that does its work when this process ends.

    Args:
        work: a shell script.
        paths: its arguments.
        holding: descriptors that the shell keeps open until it is done, e.g. those of locks.
    """

    def __init__(self, work: str, paths: Sequence[Path], holding: Sequence[int]) -> None:
        with undisturbed():
            self._popen = subprocess.Popen(
                ["/bin/sh", "-c", _WAIT + work, "gi-cuda", *map(os.path.abspath, paths)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**os.environ, "PATH": os.defpath},
                pass_fds=holding,
                start_new_session=True,
            )

    def work(self) -> None:
        """Do the work now, and wait for it."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait()


@contextmanager
def afterwards(work: str, *paths: Path, holding: Sequence[int] = ()) -> Iterator[None]:
    """Run a shell script at the end of the context, or of this process if that comes first.

    Args:
        work: the script: :data:`REMOVE` or :data:`SETTLE`.
        paths: its arguments.
        holding: descriptors that stay open until the script is done.
    """
    janitor = _Janitor(work, paths, holding)
    try:
        yield
    finally:
        janitor.work()


def sweep(folder: Path) -> None:
    """Remove a folder in a background thread.

    On a disk that frees blocks at once, removing a file takes milliseconds. Folders that are left
    at the end of this process have to be in a folder that is removed then.
    """
    _swept().put(folder)


@cache
def _swept() -> SimpleQueue[Path]:
    """Return the queue of folders to remove. The first call starts the thread that removes them."""
    folders: SimpleQueue[Path] = SimpleQueue()

    def serve() -> None:
        while True:
            shutil.rmtree(folders.get(), ignore_errors=True)

    Thread(target=serve, name="sweeper", daemon=True).start()
    return folders


@contextmanager
def own_temporary_folder() -> Iterator[None]:
    """Put all temporary files, those of compilers too, into one folder and remove it at the end.

    If the folder cannot be made, this raises no error; code that needs a temporary file raises one.
    """
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    try:
        folder = Path(tempfile.gettempdir()) / f"gi-cuda-{os.getpid()}-{os.urandom(4).hex()}"
    except OSError:
        yield
        return
    with afterwards(REMOVE, folder):
        with suppress(OSError):
            folder.mkdir(mode=0o700)
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before[0]
            if before[1] is None:
                os.environ.pop("TMPDIR", None)
            else:
                os.environ["TMPDIR"] = before[1]
            shutil.rmtree(folder, ignore_errors=True)
