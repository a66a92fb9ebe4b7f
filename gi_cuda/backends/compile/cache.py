"""Files and texts that are made once on a machine and then kept in the user's cache folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from gi_cuda.backends.compile.process import read_text, run, write_text
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


def cached_text(kind: str, name: str, make: Callable[[], str | None], most: int) -> str | None:
    """A text in the cache, made if it is not there; where nothing can be kept, each time.

    Of several threads that ask for it at once one makes it, and the others wait. Of all texts of a
    kind, those that were used last are kept.

    Args:
        kind: a folder of its own in :func:`cache_folder`.
        name: its own; it must differ where the text would.
        make: says the text; None: nothing is kept.
        most: how many of a kind are kept.
    """
    path = cache_folder() / kind / name
    with _making(path):
        with suppress(OSError):
            os.utime(path)
            return read_text(path)
        if (text := make()) is None:
            return None
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
                fresh = Path(scratch) / name
                write_text(fresh, text)
                os.replace(fresh, path)
            _leave_newest(path.parent, most)
    return text


_made: WeakValueDictionary[Path, _Making] = WeakValueDictionary()
_made_lock = Lock()


class _Making:
    """Whoever makes a text has it."""

    def __init__(self) -> None:
        self.lock = Lock()


@contextmanager
def _making(path: Path) -> Iterator[None]:
    """While this lasts no other thread is in the same place for the same text."""
    with _made_lock:
        one = _made.setdefault(path, _Making())
    with one.lock:
        yield


def _leave_newest(folder: Path, most: int) -> None:
    """Remove the files of a folder that were not used for longest."""
    files = [(path.stat().st_mtime_ns, path) for path in folder.iterdir() if path.is_file()]
    for _, path in sorted(files)[: max(0, len(files) - most)]:
        path.unlink(missing_ok=True)
