"""Paths of a run's folder and of temporary folders beside it."""

from __future__ import annotations

import os
from pathlib import Path

from gi_cuda.runs.lock import locked


def beside(folder: Path, what: str) -> Path:
    """Return the path of a hidden file or folder beside the run's folder, e.g.
    ``.saxpy-1.making``.
    """
    whole = Path(os.path.abspath(folder))
    return whole.with_name(f".{whole.name}.{what}")


def put_aside(folder: Path) -> Path:
    """Return the path to which an old run is moved while a new one takes its place."""
    return beside(folder, "old")


def restored(folder: Path) -> Path:
    """Return a run's folder, after undoing an interrupted replacement.

    If the process stopped after the old run was moved aside and before the new one took its place,
    the old run is moved back.

    Raises:
        UserError: another process is replacing the run right now.
    """
    aside = put_aside(folder)
    if aside.exists() and not folder.exists():
        with locked(aside):
            aside.rename(folder)
    return folder
