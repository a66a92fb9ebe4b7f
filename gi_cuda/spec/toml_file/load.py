"""Read and check ``target.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from gi_cuda.errors import TARGET_FILE, UserError, no_target
from gi_cuda.spec.target import Target
from gi_cuda.spec.toml_file.locate import KeyLines

FILE_NAME = TARGET_FILE

MARK = "FILL IN"
"""Placeholder in a generated ``target.toml`` for values that only the user knows."""


def load_target(path: Path | str) -> Target:
    """Load the target from the folder `path`, or from the file `path`.

    All of the file is checked: names in launches, sizes and constraints exist, files exist, the
    default configuration is allowed. The target's code does not run; see
    :func:`gi_cuda.spec.case_data.own_code.check_code`.

    Raises:
        UserError: the file is wrong; the error names file, line and key, and a remedy.
    """
    # Imported here, because workers get their target ready-made and start faster without pydantic.
    from gi_cuda.spec.toml_file.resolve import resolve
    from gi_cuda.spec.toml_file.schema import read_tables

    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    text = _read(file)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _malformed(file, text, str(error)) from None
    places = KeyLines.of(file, text)
    return resolve(read_tables(data, places), places)


def data_file(target: Target) -> Path:
    """Return the path of the data module, relative to the target as the user named it."""
    if target.data.is_relative_to(target.folder):
        return target.file.parent / target.data.relative_to(target.folder)
    return target.data


def keys_of(target: Target) -> KeyLines:
    """Return the lines of all keys of ``target.toml``; empty if the file is no longer readable."""
    try:
        text = target.file.read_text(encoding=_ENCODING)
    except (OSError, UnicodeDecodeError):
        text = ""
    return KeyLines.of(target.file, text)


_ENCODING = "utf-8-sig"
"""UTF-8 with an optional byte order mark, which some editors write."""


def _read(file: Path) -> str:
    if file.suffix not in (".toml", "") and file.is_file():
        raise no_target(file)
    try:
        return file.read_text(encoding=_ENCODING)
    except FileNotFoundError:
        raise no_target(file) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"the file cannot be read: {reason}", where=str(file)) from None


def _malformed(file: Path, text: str, message: str) -> UserError:
    found = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    line = int(found[1]) if found else text.count("\n") + 1
    what = message[: found.start()] if found else message
    column = f" at column {found[2]}" if found else ""
    return UserError(
        f"this is not TOML: {what}{column}",
        where=f"{file}:{line}",
        hint="Texts stand in quotes, tables begin with [name] or [[name]].",
    )
