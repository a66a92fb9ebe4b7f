"""Files and texts that are made once on a machine and kept in the user's cache folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from gi_cuda.backends.compile.caching.single_flight import Turns
from gi_cuda.backends.compile.process import read_text, run, write_text
from gi_cuda.errors import UserError

LIMIT = 300.0
"""Seconds of wall time after which making a file is given up."""

_making = Turns()
_SCRATCH = "making-"


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/gi-cuda``, by default ``~/.cache/gi-cuda``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gi-cuda"


def output_of(command: Sequence[str], what: str, hint: str | None = None) -> str:
    """Return the standard output of a program.

    Args:
        what: the program's name for messages.
        hint: what to do if it fails.

    Raises:
        UserError: the program fails.
    """
    done = run(command, limit=LIMIT)
    if not done.ok:
        how = f"fails with status {done.status}" if done.status else f"takes over {LIMIT:g} s"
        raise UserError(
            f"{what} {how}: {done.stderr.strip()}",
            where=" ".join(command),
            hint=hint,
        )
    return done.stdout


def cached(
    name: str, make: Callable[[Path], None], folder: Path | None = None, most: int | None = None
) -> Path:
    """Return the path of a file or folder in the cache. Make it if it is not there.

    Any number of processes may do this at once: each writes a file of its own, and renaming is
    atomic.

    Args:
        name: name of the file. Different contents need different names.
        make: writes the file to a path.
        folder: folder for the file, by default :func:`cache_folder`.
        most: number of files to keep there, the last used ones; None: all.

    Raises:
        UserError: the cache cannot be written, or what ``make`` raises.
    """
    folder = folder or cache_folder()
    path = folder / name
    if path.exists():
        if most is not None:
            with suppress(OSError):  # another user may own it
                os.utime(path)
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
            fresh = Path(scratch) / name
            make(fresh)
            os.replace(fresh, path)
        if most is not None:
            with suppress(OSError):  # other processes may do the same
                _leave_newest(folder, most)
    except OSError as error:
        raise UserError(
            f"the cache folder cannot be written: {error.strerror}",
            where=str(folder),
            hint="set XDG_CACHE_HOME to a folder that can",
        ) from error
    return path


def cached_text(kind: str, name: str, make: Callable[[], str | None], most: int) -> str | None:
    """Return a text from the cache. Make it if it is not there, or if nothing can be stored.

    If several threads ask for it at once, one makes it and the others wait.

    Args:
        kind: subfolder of :func:`cache_folder`.
        name: name of the text. Different texts need different names.
        make: makes the text; None: nothing is stored.
        most: number of texts of this kind to keep, the last used ones.
    """
    path = cache_folder() / kind / name
    with _making.of(path):
        with suppress(OSError):
            os.utime(path)
            return read_text(path)
        if (text := make()) is None:
            return None
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=_SCRATCH) as scratch:
                fresh = Path(scratch) / name
                write_text(fresh, text)
                os.replace(fresh, path)
            _leave_newest(path.parent, most)
    return text


def _leave_newest(folder: Path, most: int) -> None:
    """Remove the least recently used entries of a folder, except those that are being made."""
    made = [path for path in folder.iterdir() if not path.name.startswith(_SCRATCH)]
    used = sorted((path.stat().st_mtime_ns, path) for path in made)
    for _, path in used[: max(0, len(used) - most)]:
        if path.is_dir():
            rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
