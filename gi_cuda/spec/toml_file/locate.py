"""Find the lines of keys in a TOML file, which the standard reader does not report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError

Key = tuple[str | int, ...]
"""Path to a value, e.g. ``("parameter", 0, "values")``."""

_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"""|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<open>[\[{])|(?P<close>[\]}])"""
    r"""|(?P<equals>=)|(?P<dot>\.)|(?P<comma>,)|(?P<word>[A-Za-z0-9_+:-]+)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)
_Token = tuple[str, str, int]

_LOOP = "Is it a symbolic link in a circle, or too long?"


def lines_of_keys(text: str) -> dict[Key, int]:
    """Return the 1-based line of every table header and every key of a TOML text.

    Keys of inline tables are not listed; they are on the line of the key that they belong to.
    """
    lines: dict[Key, int] = {(): 1}
    table: Key = ()
    counts: dict[Key, int] = {}
    for tokens in _statements(text):
        kind, _, line = tokens[0]
        if kind == "open":
            names = [_name(token) for token in tokens if token[0] in ("word", "string")]
            if not names:  # not valid TOML
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
    """Lines of the keys of a file, for messages.

    Attributes:
        file: path of the file as the user named it.
        lines: result of `lines_of_keys`.
    """

    file: Path
    lines: Mapping[Key, int]

    @classmethod
    def of(cls, file: Path, text: str) -> KeyLines:
        """Find the lines of the keys of `text`, the contents of `file`."""
        return cls(file, lines_of_keys(text))

    def line(self, key: Key) -> int:
        """Return the line of `key`, or of the innermost enclosing table or key with a line."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)

    def at(self, key: Key) -> str:
        """Return the place of a key as ``file:line: key``."""
        place = f"{self.file}:{self.line(key)}"
        return f"{place}: {show_key(key)}" if key else place

    def error(self, key: Key, what: str, hint: str | None = None) -> UserError:
        """Make an error about the value of `key`, with an optional hint."""
        return UserError(what, where=self.at(key), hint=hint)


@dataclass(frozen=True, slots=True)
class Files:
    """A resolver of the paths of files and folders in a target.

    Attributes:
        folder: base of relative paths.
        places: lines of keys, for messages.
    """

    folder: Path
    places: KeyLines

    def find(self, name: str | Path, key: Key) -> Path:
        """Return the absolute path of the file `name`.

        Raises:
            UserError: the file does not exist; the error names `key`.
        """
        path = self._resolved(name, key)
        return self._there(path, path.is_file(), f"the file {str(name)!r}", key)

    def find_folder(self, name: str | Path, key: Key) -> Path:
        """Return the absolute path of the folder `name`.

        Raises:
            UserError: the folder does not exist; the error names `key`.
        """
        path = self._resolved(name, key)
        return self._there(path, path.is_dir(), f"the folder {str(name)!r}", key)

    def find_named(self, name: str | Path, key: Key) -> Path:
        """Return the absolute path of the file or folder `name`, without following links.

        Raises:
            UserError: it does not exist; the error names `key`.
        """
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
    """Format a key: ``("parameter", 0, "values")`` becomes ``parameter[0].values``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _statements(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each table header or assignment, which may span several lines."""
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
    """Return the key of the table that a header opens.

    Args:
        names: names in the header.
        array: whether the header is that of an array of tables, ``[[name]]``.
        counts: number of tables so far in each array of tables; updated.
    """
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
