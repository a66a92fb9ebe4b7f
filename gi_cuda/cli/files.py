"""Files that verbs write: tried before any work is done, then written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gi_cuda.cli.console import console
from gi_cuda.errors import UserError
from gi_cuda.report.tables import say


def check_new(path: Path, *, force: bool) -> None:
    """Refuse to write over a file, unless asked to, or where nothing can be written.

    Raises:
        UserError: the file exists, is a folder, or cannot be made.
    """
    if path.is_dir():
        raise UserError("it is a folder", where=str(path), hint="name a file")
    if path.exists() and not force:
        raise UserError("the file exists", where=str(path), hint="overwrite it with --force")
    _probe(path.parent, path)


def check_figures(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that figures cannot be written to, before any work is done.

    Args:
        names: of the files without their suffixes.

    Raises:
        UserError: it is no folder, cannot be made, or has a folder where a figure goes.
    """
    _probe(folder, folder)
    for name in names:
        for suffix in ("svg", "png", "dot"):
            if (folder / f"{name}.{suffix}").is_dir():
                raise UserError(
                    "it is a folder, and a figure goes here",
                    where=str(folder / f"{name}.{suffix}"),
                    hint="remove it, or name another folder with --figures",
                )


def _probe(folder: Path, what: Path) -> None:
    """Find out whether files can be made in a folder, which may have to be made itself.

    Args:
        what: the file or folder that the user asked for, for the message.
    """
    try:
        there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
        # Permissions do not tell: root has them all, and still cannot write everywhere.
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(what), hint="name another place"
        ) from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder; it is removed at the end of the context, or with all temporary files at
    that of the command.

    Raises:
        UserError: there is no place for one.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="gi-cuda-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UserError(
            f"no folder can be made for what is needed meanwhile: {error.strerror}",
            where=os.environ.get("TMPDIR", "TMPDIR"),
            hint="name one with the environment variable TMPDIR",
        ) from None
    with folder as path:
        yield Path(path)


def write_new(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all; never over one that is there unless asked.

    Raises:
        UserError: the file exists, or cannot be written.
    """
    check_new(path, force=force)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(path), hint="name another place"
        ) from None


def say_written(files: Iterable[Path]) -> None:
    """Name the files that were written."""
    for file in files:
        say(console, f"wrote {file}")
