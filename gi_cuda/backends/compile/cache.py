"""Files that are made once on a machine and then kept in the user's cache folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.errors import UserError

LIMIT = 300.0
"""Seconds of wall time in which such a file is made."""


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/gi-cuda``, by default ``~/.cache/gi-cuda``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gi-cuda"


def output_of(command: Sequence[str], what: str, hint: str | None = None) -> str:
    """What a program writes to its standard output.

    Raises:
        UserError: it fails; ``what`` it is, and a hint for that.
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


def cached(name: str, make: Callable[[Path], None], folder: Path | None = None) -> Path:
    """Path of a file in the cache, made if it is not there.

    Any number of processes may do this at once: each writes a file of its own, and renaming is
    atomic.

    Args:
        name: the file's; it must differ where the content would.
        make: writes the file at a path.
        folder: where it is kept, by default :func:`cache_folder`.

    Raises:
        UserError: the cache cannot be written, or what ``make`` raises.
    """
    folder = folder or cache_folder()
    path = folder / name
    if path.exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=name[:5]) as scratch:
            fresh = Path(scratch) / name
            make(fresh)
            os.replace(fresh, path)
    except OSError as error:
        raise UserError(
            f"the cache folder cannot be written: {error.strerror}",
            where=str(folder),
            hint="set XDG_CACHE_HOME to a folder that can",
        ) from error
    return path
