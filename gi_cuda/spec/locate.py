"""Where in a TOML file a key stands, which the standard reader does not tell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError

Key = tuple[str | int, ...]
"""The way to a value, e.g. ``("parameter", 0, "values")``."""

_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"""|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<open>[\[{])|(?P<close>[\]}])"""
    r"""|(?P<equals>=)|(?P<dot>\.)|(?P<comma>,)|(?P<word>[A-Za-z0-9_+:-]+)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)
_Token = tuple[str, str, int]

_LOOP = "Is it a symbolic link in a circle, or too long?"


def lines_of_keys(text: str) -> dict[Key, int]:
    """The 1-based line of every table header and every key of a TOML text.

    Keys of inline tables stand on the line of the key they belong to, and are not listed.
    """
    lines: dict[Key, int] = {(): 1}
    table: Key = ()
    counts: dict[Key, int] = {}
    for tokens in _statements(text):
        kind, _, line = tokens[0]
        if kind == "open":
            names = [_name(token) for token in tokens if token[0] in ("word", "string")]
            if not names:  # it is no TOML any more
                continue
            array = len(tokens) > 1 and tokens[1][0] == "open"
            table = _header(names, array, counts)
            lines.setdefault(table, line)
            if array:
                lines.setdefault(table[:-1], line)
            continue
        key = table
        for token in tokens:
            if token[0] == "equals":
                break
            if token[0] in ("word", "string"):
                key = (*key, _name(token))
        lines.setdefault(key, line)
    return lines


@dataclass(frozen=True, slots=True)
class KeyLines:
    """Where the keys of one file stand, for messages.

    Attributes:
        file: as the user named it.
        lines: from `lines_of_keys`.
    """

    file: Path
    lines: Mapping[Key, int]

    @classmethod
    def of(cls, file: Path, text: str) -> KeyLines:
        """The places of the keys of `text`, which `file` holds."""
        return cls(file, lines_of_keys(text))

    def line(self, key: Key) -> int:
        """The line of `key`, or of the innermost table or key around it that has one."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def at(self, key: Key) -> str:
        """``file:line: key``."""
        place = f"{self.file}:{self.line(key)}"
        return f"{place}: {show_key(key)}" if key else place

    def error(self, key: Key, what: str, hint: str | None = None) -> UserError:
        """What is wrong with the value of `key`, and what to do."""
        return UserError(what, where=self.at(key), hint=hint)


@dataclass(frozen=True, slots=True)
class Files:
    """Finds the files and folders that a target names.

    Attributes:
        folder: where relative paths start.
        places: of the keys that name them, for messages.
    """

    folder: Path
    places: KeyLines

    def find(self, name: str | Path, key: Key) -> Path:
        """The file `name`, absolute."""
        path = self._resolved(name, key)
        return self._there(path, path.is_file(), f"the file {str(name)!r}", key)

    def find_folder(self, name: str | Path, key: Key) -> Path:
        """The folder `name`, absolute."""
        path = self._resolved(name, key)
        return self._there(path, path.is_dir(), f"the folder {str(name)!r}", key)

    def find_named(self, name: str | Path, key: Key) -> Path:
        """The file or folder `name`, absolute; a link is not followed."""
        path = Path(os.path.abspath(self.folder / name))
        there = os.path.lexists(path)
        return self._there(path, there, f"the file or folder {str(name)!r}", key)

    def _resolved(self, name: str | Path, key: Key) -> Path:
        try:
            return (self.folder / name).resolve()
        except (RuntimeError, OSError):  # which of them depends on the version of Python
            raise self.places.error(key, f"{str(name)!r} leads nowhere", _LOOP) from None

    def _there(self, path: Path, there: bool, what: str, key: Key) -> Path:
        if there:
            return path
        raise self.places.error(key, f"{what} is not there", f"It should be {path}.")


def show_key(key: Key) -> str:
    """``("parameter", 0, "values")`` as ``parameter[0].values``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _statements(text: str) -> Iterator[list[_Token]]:
    """The tokens of each header or assignment, which may run over several lines."""
    statement: list[_Token] = []
    depth, line = 0, 1
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup or "other", match[0]
        if kind == "newline" and depth == 0 and statement:
            yield statement
            statement = []
        elif kind not in ("newline", "space", "comment"):
            statement.append((kind, found, line))
            depth += (kind == "open") - (kind == "close")
        line += found.count("\n")
    if statement:
        yield statement


def _header(names: list[str], array: bool, counts: dict[Key, int]) -> Key:
    """The key of the table that a header opens; counts the elements of arrays of tables."""
    key: Key = ()
    for name in names[:-1]:
        key = (*key, name)
        if key in counts:
            key = (*key, counts[key] - 1)
    key = (*key, names[-1])
    if array:
        counts[key] = counts.get(key, 0) + 1
        key = (*key, counts[key] - 1)
    return key


def _name(token: _Token) -> str:
    kind, text, _ = token
    return text[1:-1] if kind == "string" else text
