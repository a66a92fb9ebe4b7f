"""Error messages for a run database that cannot be opened, read or written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gi_cuda.errors import MachineError, UserError

_ROOM = "make room on the disk, and go on: gi-cuda resume"
_SAID = {
    "READONLY": (
        "the run database cannot be written to, not even to bring it up to date",
        "copy the run's folder to a place where you may write",
    ),
    "BUSY": ("another process keeps the run database busy", "try again when it is done"),
    "FULL": ("the disk is full: the run database cannot be written to", _ROOM),
    "IOERR": ("the disk is full, or fails: the run database cannot be read or written", _ROOM),
    "CORRUPT": ("the run database is damaged", "take a copy of it, or start a new run"),
    "NOMEM": ("there is no memory left", "end other programs"),
}
_SAID |= {"CANTOPEN": _SAID["READONLY"], "LOCKED": _SAID["BUSY"], "NOTADB": _SAID["CORRUPT"]}


def reason(error: sqlite3.Error) -> str:
    """Return the short name of an SQLite error, e.g. ``BUSY``; "" if the error has no name."""
    name = getattr(error, "sqlite_errorname", None) or ""
    return name.removeprefix("SQLITE_").partition("_")[0]


def complaint(error: sqlite3.Error, where: str | None = None) -> UserError | None:
    """Return the error to show to the user; None if the cause is a bug in gi-cuda."""
    if reason(error) not in _SAID:
        return None
    what, hint = _SAID[reason(error)]
    return MachineError(what, where=where, hint=hint)


@contextmanager
def complaints(path: Path) -> Iterator[None]:
    """Turn SQLite errors inside the context into errors with a hint for the user.

    Raises:
        MachineError: the database cannot be opened, read or written.
    """
    try:
        yield
    except sqlite3.Error as error:
        said = complaint(error, str(path))
        if said is None:
            raise
        raise said from None
