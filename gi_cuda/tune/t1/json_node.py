"""A JSON value that knows its place in a file, so that a mistake is reported with that place."""

from __future__ import annotations

import gzip
import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gi_cuda.errors import UserError
from gi_cuda.spec.parameters import Value

_CLOSING = "}}"
"""The brackets that Kernel Tuner leaves out of a cache file while it is tuning."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a JSON file.

    Attributes:
        value: the value, as :func:`json.loads` returns it.
        file: the file.
        at: the path inside the file, e.g. ``results[12].configuration.BLOCK``; "" for all of it.
    """

    value: Any
    file: Path
    at: str = ""

    def mistake(self, what: str, hint: str | None = None) -> UserError:
        """Return an error that names the file and the path inside it."""
        where = f"{self.file}: {self.at}" if self.at else str(self.file)
        return UserError(what, where=where, hint=hint)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def __getitem__(self, key: str) -> Node:
        """Return the value of a key.

        Raises:
            UserError: this is no object, or lacks the key.
        """
        if key not in self.object():
            raise self.mistake(f"the key {key!r} is missing")
        return Node(self.value[key], self.file, f"{self.at}.{key}" if self.at else key)

    def optional(self, key: str) -> Node | None:
        """Return the value of a key; None where it is missing or null."""
        return self[key] if key in self else None  # noqa: SIM401 (this is no dict)

    def list_of(self, key: str) -> list[Node]:
        """Return the items of a key's value; none where the key is missing or null."""
        return list(self[key].items()) if key in self else []

    def object(self) -> dict[str, Any]:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.mistake("an object ({...}) is needed here")
        return self.value

    def items(self) -> Iterator[Node]:
        """Iterate over the items of the value, which must be a list."""
        if not isinstance(self.value, list):
            raise self.mistake("a list ([...]) is needed here")
        for number, item in enumerate(self.value):
            yield Node(item, self.file, f"{self.at}[{number}]")

    def text(self) -> str:
        """Return the value, which must be a text."""
        if not isinstance(self.value, str):
            raise self.mistake(f"a text is needed here, not {self.value!r}")
        return self.value

    def name(self) -> str:
        """Return the value, which must be a name in C."""
        name = self.text()
        if not (name.isidentifier() and name.isascii()):
            raise self.mistake(f"{name!r} is no name in C")
        return name

    def number(self) -> float:
        """Return the value, which must be a finite number."""
        number = self.value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise self.mistake(f"a number is needed here, not {number!r}")
        if not math.isfinite(number):
            raise self.mistake(f"a finite number is needed here, not {number}")
        return float(number)

    def time(self) -> float:
        """Return the value, which must be a finite number from 0 on."""
        if self.number() < 0:
            raise self.mistake(f"{self.value} is no time: it is negative")
        return float(self.value)

    def parameter_value(self) -> Value:
        """Return the value of a tuning parameter: a number or a text; true and false are 1 and 0.

        Raises:
            UserError: it is something else.
        """
        value = int(self.value) if isinstance(self.value, bool) else self.value
        if not isinstance(value, int | float | str) or value != value:
            raise self.mistake(f"a parameter's value is a number or a text, not {value!r}")
        return value


def read_json(path: Path) -> Node:
    """Read a JSON file: plain, compressed by gzip, or the only file of a zip archive.

    A file that lacks its last two brackets, as Kernel Tuner's caches do while it is tuning, is
    read up to its last complete line.

    Raises:
        UserError: the file cannot be read, or holds something else.
    """
    try:
        text = _content(path).decode("utf-8")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise UserError(f"the compressed file is damaged: {error}", where=str(path)) from None
    except UnicodeDecodeError:
        raise UserError("this is no JSON: it is not text in UTF-8", where=str(path)) from None
    text = text.rstrip()
    try:
        return Node(json.loads(text), path)
    except RecursionError:
        raise UserError("the JSON is nested too deeply", where=str(path)) from None
    except json.JSONDecodeError as error:
        for part in (text, text.rpartition("\n")[0]):
            try:
                return Node(json.loads(part.rstrip().rstrip(",") + _CLOSING), path)
            except json.JSONDecodeError:
                continue
        what = f"this is no JSON: {error.msg}"
        raise UserError(what, where=f"{path}:{error.lineno}:{error.colno}") from None


def _content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked where its first bytes say that it is packed."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        return gzip.decompress(content)
    if not content.startswith(b"PK\x03\x04"):
        return content
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            what = f"the archive holds {len(names)} files, and one is needed"
            raise UserError(what, where=str(path))
        return archive.read(names[0])
