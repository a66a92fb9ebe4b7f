"""Reading ``target.toml``: from a file to a checked target, or to one clear error."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gi_cuda.errors import UserError
from gi_cuda.spec.locate import Key, KeyLines
from gi_cuda.spec.target import Target

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

FILE_NAME = "target.toml"


def load_target(path: Path | str) -> Target:
    """The target in the folder `path`, or in the file `path`.

    The file is checked as a whole: the names that launches, sizes and constraints use exist, the
    files it names are there, the data module and the oracle run, the default configuration is
    allowed.

    Raises:
        UserError: naming file, line and key of what is wrong, and what to do.
    """
    # Loaded here, since workers are sent their target and start sooner without.
    from pydantic import ValidationError

    from gi_cuda.spec.assemble import assemble
    from gi_cuda.spec.schema import TargetFile

    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    text = _read(file)
    places = KeyLines.of(file, text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _malformed(file, text, str(error)) from None
    try:
        table = TargetFile.model_validate(data)
    except ValidationError as error:
        raise _invalid(places, data, error) from None
    return assemble(table, places)


_SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")


def _read(file: Path) -> str:
    if file.suffix in _SOURCES and file.is_file():
        raise UserError(
            "this is a CUDA source, and a target is needed",
            where=str(file),
            hint=f"`gi-cuda init {file}` makes one of it",
        )
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            "there is no target here",
            where=str(file),
            hint=f"Name a folder that holds a {FILE_NAME}.",
        ) from None
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


def _invalid(places: KeyLines, data: dict[str, Any], error: ValidationError) -> UserError:
    """The mistake that stands first in the file, with its key and line."""
    found = [(_key(detail, data), detail) for detail in error.errors()]
    key, detail = min(found, key=lambda pair: places.line(pair[0]))
    what, hint = _explain(detail)
    return UserError(what, where=places.at(key), hint=hint)


def _key(detail: ErrorDetails, data: dict[str, Any]) -> Key:
    """The way to the mistake in the file: without what pydantic puts between, such as the tag
    of a union, and with the key that our own checks name."""
    key: list[str | int] = []
    value: Any = data
    location = list(detail["loc"])
    if location[:1] == ["oracle"] and isinstance(data.get("oracle"), dict):
        del location[1:2]  # a single table is read as a list of one
    missing = location.pop() if detail["type"] == "missing" else None
    for part in location:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        key.append(part)
    named = detail.get("ctx", {}).get("key", missing)
    return tuple(key) if named is None else (*key, named)


def _explain(detail: ErrorDetails) -> tuple[str, str | None]:
    context = detail.get("ctx", {})
    if detail["type"] == "target":
        return context["what"], context.get("hint") or None
    if detail["type"] == "missing":
        return "the key is missing", None
    what = detail["msg"].replace("Input should", "it should")
    given = detail["input"]
    shown = repr(given)
    return f"{what}, but is {shown if len(shown) <= 60 else type(given).__name__}", None
