"""Source texts: read them from files, and map offsets in a text to files and lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gi_cuda.errors import UserError
from gi_cuda.spec.launching.usual import Usual

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A span of a source's text that comes from one file; it starts at the start of a line.

    Attributes:
        file: the file's name, which is part of the names of its rules.
        line: the line of the file (from 1) on which the span starts.
        start, end: the span, as offsets into the source's text.
    """

    file: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source of one or more files, as one text.

    The text is decoded as UTF-8 with ``surrogateescape`` and untouched line ends, so encoding it
    again gives the file back byte for byte.

    A source of several files contains the text of its headers at their include lines. Text between
    two parts belongs to no file (see :mod:`gi_cuda.grammar.frontends.cuda.text.several`).

    Attributes:
        name: name of the main file, which is part of the names of its rules.
        text: the whole text, which is read, changed and compiled.
        parts: the spans of the files in the text, in order; empty for a single file.
        marked: names of the files that begin with a byte order mark. The mark is not in the text,
            because compilers accept it only at the start of a file.
        beside: texts of the headers that stay includes, if they were found; each comes after the
            headers that it includes. They tell the types of names that the source uses.
        usual: the usual values of kernels' integer arguments, see
            :mod:`gi_cuda.spec.launching.usual`.
        varied: names of constants that are parameters of a target, so their values vary; no
            rewrite of a launch may rely on them.
    """

    name: str
    text: str
    parts: tuple[FileSpan, ...] = ()
    marked: frozenset[str] = frozenset()
    beside: tuple[str, ...] = field(default=(), repr=False)
    usual: Usual = ()
    varied: frozenset[str] = frozenset()

    @property
    def stretches(self) -> tuple[FileSpan, ...]:
        """The parts; for a source of one file, a single span of the whole text."""
        return self.parts or (FileSpan(self.name, 1, 0, len(self.text)),)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files, the main file first."""
        return tuple(dict.fromkeys((self.name, *(part.file for part in self.parts))))

    @property
    def files(self) -> dict[str, str]:
        """The text of each file as on disk, by the file's name."""
        texts: dict[str, list[str]] = {
            name: [BYTE_ORDER_MARK] if name in self.marked else [] for name in self.names
        }
        for part in self.stretches:
            texts[part.file].append(self.text[part.start : part.end])
        return {name: "".join(pieces) for name, pieces in texts.items()}

    def with_texts(self, texts: Sequence[str]) -> Source:
        """Return this source with another text for each of :attr:`stretches`, in order."""
        pieces: list[str] = []
        parts: list[FileSpan] = []
        length = before = 0
        for part, text in zip(self.stretches, texts, strict=True):
            start = length + part.start - before
            length = start + len(text)
            pieces += [self.text[before : part.start], text]
            parts.append(FileSpan(part.file, part.line, start, length))
            before = part.end
        pieces.append(self.text[before:])
        joined = "".join(pieces)
        return replace(self, text=joined, parts=tuple(parts) if self.parts else ())


def read_source(path: Path | str, name: str | None = None) -> Source:
    """Read a source file.

    Args:
        path: path of the file.
        name: name of the source, which is part of the names of its rules; by default the file's.

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
    return of_text(name or path.name, data.decode("utf-8", "surrogateescape"))


def of_text(name: str, text: str) -> Source:
    """Return a source of one file with this text."""
    if text.startswith(BYTE_ORDER_MARK):
        return Source(name, text.removeprefix(BYTE_ORDER_MARK), (), frozenset([name]))
    return Source(name, text)


class SourceLine(NamedTuple):
    """A line of a file; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class LineIndex:
    """An index that maps offsets in a source to files and lines."""

    def __init__(self, source: Source) -> None:
        self._lines = line_starts(source.text)
        self._parts = source.stretches
        self._starts = [part.start for part in self._parts]
        # Add a part's shift to a line number of the text to get the line number in the file.
        self._shifts = [p.line - bisect_right(self._lines, p.start) for p in self._parts]

    def at(self, offset: int) -> SourceLine:
        """Return the file and line of an offset; between two parts, of the first part's end."""
        k = max(0, bisect_right(self._starts, offset) - 1)
        part = self._parts[k]
        inside = min(offset, max(part.start, part.end - 1))
        return SourceLine(part.file, bisect_right(self._lines, inside) + self._shifts[k])


def line_starts(text: str) -> list[int]:
    """Return the offset of each line's first character."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
