"""Output files of commands: checked before any work is done, then written whole or not at all."""

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
    """Check that a file can be written, without overwriting one unless `force` is set.

    Raises:
        UserError: the file exists, is a folder, or cannot be written.
    """
    if path.is_dir():
        raise UserError("it is a folder", where=str(path), hint="name a file")
    if path.exists() and not force:
        raise UserError("the file exists", where=str(path), hint="overwrite it with --force")
    _probe(path.parent, path)


def check_figures(folder: Path, names: Iterable[str]) -> None:
    """Check that figures can be written to a folder, before any work is done.

    Args:
        names: names of the files without suffixes.

    Raises:
        UserError: it is not a folder, cannot be created, or has a folder in the place of a figure.
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
    """Check that files can be created in a folder, which may not exist yet.

    Args:
        what: the file or folder that the user gave, for the message.

    Raises:
        UserError: no file can be created there.
    """
    try:
        there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
        # Permissions are not enough: root has all of them and still cannot write everywhere.
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(what), hint="name another place"
        ) from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end of the context.

    If that fails, it is removed with all temporary files of the command.

    Raises:
        UserError: no temporary folder can be created.
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
    """Write a file whole or not at all; overwrite one only if `force` is set.

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
    """Print the names of the files that were written."""
    for file in files:
        say(console, f"wrote {file}")
