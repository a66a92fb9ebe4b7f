"""Reading source files so that every byte survives."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar.rule import Source


def read_source(path: Path | str, name: str | None = None) -> Source:
    """Read a source file; ``name`` (default: the file's own) is what its rules are named after.

    Raises:
        UserError: the file cannot be read, or is not text.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"cannot read the source file: {error.strerror or error}", where=str(path)
        ) from error
    if b"\0" in data:
        raise UserError(
            "this is not text (it holds NUL bytes)",
            where=str(path),
            hint="name a CUDA C/C++ source file; UTF-16 files must be saved as UTF-8 first",
        )
    return Source(name or path.name, data.decode("utf-8", "surrogateescape"))
