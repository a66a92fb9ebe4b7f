"""Write a target's folder, completely or not at all; overwrite nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.errors import UserError


def check_free(folder: Path, option: str = "--output") -> None:
    """Refuse a path that exists.

    Args:
        option: the option that names another folder, for the hint.

    Raises:
        UserError: the folder exists.
    """
    if folder.exists() or folder.is_symlink():
        raise UserError(
            "it exists, and nothing is overwritten",
            where=str(folder),
            hint=f"name another folder with {option}, or remove this one",
        )


Content = str | NDArray[Any]
"""Content of a file: a text, or an array that is saved in numpy's format."""


def write_file(path: Path, content: Content) -> None:
    """Write a text or an array."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        np.save(path, content, allow_pickle=False)


def write_folder(folder: Path, files: Mapping[str, Content]) -> None:
    """Write a folder of files, given by their relative paths; it appears complete or not at all.

    Raises:
        UserError: the folder exists, or cannot be written.
    """
    with written_whole(folder) as making:
        for name, content in files.items():
            (making / name).parent.mkdir(exist_ok=True)
            write_file(making / name, content)


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that is renamed to `folder` at the end.

    If the body raises, the folder is removed, with the parents that were made for it.

    Raises:
        UserError: the folder exists, or cannot be written.
    """
    check_free(folder)
    making = folder.parent / f".{folder.name}.{os.getpid()}.making"
    new = [path for path in making.parents if not path.exists()]
    try:
        making.mkdir(parents=True)
        yield making
        making.rename(folder)
    except BaseException as error:
        shutil.rmtree(making, ignore_errors=True)
        for path in new:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            raise UserError(
                f"cannot be written: {error.strerror}",
                where=str(folder),
                hint="name another folder with --output",
            ) from None
        raise
