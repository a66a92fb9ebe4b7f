"""A run's folder, and what lies beside it for a while."""

from __future__ import annotations

import os
from pathlib import Path

from gi_cuda.runs.lock import locked


def beside(folder: Path, what: str) -> Path:
    """Where something lies that belongs to a run and is not in its folder."""
    whole = Path(os.path.abspath(folder))
    return whole.with_name(f".{whole.name}.{what}")


def put_aside(folder: Path) -> Path:
    """Where a run goes whose place another one takes."""
    return beside(folder, "old")


def restored(folder: Path) -> Path:
    """A run's folder. If the machine went down just as it was put aside, it is back in its place.

    Raises:
        UserError: another process is just about to put another run there.
    """
    aside = put_aside(folder)
    if aside.exists() and not folder.exists():
        with locked(aside):
            aside.rename(folder)
    return folder
