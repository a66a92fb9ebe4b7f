"""What is tidied up beside what goes on, and when this process is through, however it ends.

At the end that is done by a process of its own, a shell that waits for it. No signal that is meant
for us reaches it, and none that comes while it works can leave its work half done.
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
"""Removes the first path."""

SETTLE = 'if [ -e "$1" ]; then rm -rf -- "$2"; else mv -- "$2" "$1"; fi'
"""If there is something at the first path, what was put aside to the second is not needed any
more; else it comes back."""


class _Janitor:
    """Waits for the end of this process to do its work.

    Args:
        work: a shell's words.
        paths: what it is about.
        holding: descriptors that it keeps open until it is done, as those of locks.
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
        """Have the work done now, and wait for it."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait()


@contextmanager
def afterwards(work: str, *paths: Path, holding: Sequence[int] = ()) -> Iterator[None]:
    """Have a shell's work (:data:`REMOVE`, :data:`SETTLE`) done at the end of the context, or of
    this process."""
    janitor = _Janitor(work, paths, holding)
    try:
        yield
    finally:
        janitor.work()


def sweep(folder: Path) -> None:
    """Have a folder removed beside what else goes on: a file that a disk gives back at once takes
    it milliseconds. What is left at the end of this process goes with the folder it is in."""
    _swept().put(folder)


@cache
def _swept() -> SimpleQueue[Path]:
    """What a thread removes, one after the other; it begins with the first one."""
    folders: SimpleQueue[Path] = SimpleQueue()

    def serve() -> None:
        while True:
            shutil.rmtree(folders.get(), ignore_errors=True)

    Thread(target=serve, name="sweeper", daemon=True).start()
    return folders


@contextmanager
def own_temporary_folder() -> Iterator[None]:
    """Have all temporary files, those of compilers too, in one folder that is removed in the end;
    where none can be made, whoever needs a temporary file will say so."""
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
