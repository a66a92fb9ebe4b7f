"""A source text and its files: reading them, and where an offset into the text lies in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gi_cuda.errors import UserError
from gi_cuda.spec.usual import Usual

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A stretch of a source's text that is one of a file, from the start of a line on.

    Attributes:
        file: the file's name, as rules are named after it.
        line: the line of the file (from 1) on which the stretch starts.
        start, end: the stretch, as offsets into the source's text.
    """

    file: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source: its name (as rules are named after it) and its whole text.

    The text is decoded so that encoding it again gives the file back byte for byte
    (UTF-8 with ``surrogateescape``, line ends untouched).

    A source of several files has the text of its headers where they are included; what lies
    between two parts belongs to no file (see :mod:`gi_cuda.grammar.frontends.cuda.several`).

    Attributes:
        name: the name of the (main) file.
        text: what is read, changed and compiled.
        parts: in order, which file each stretch of the text is from; empty for one single file.
        marked: the files that begin with a byte order mark. Compilers read it in front of a file
            alone, so it is no part of the text.
        beside: the texts of headers that stay includes, as far as they were found, each behind
            those that it includes: they tell what the source's names are.
        usual: the integers that kernels usually get, see :mod:`gi_cuda.spec.usual`.
        varied: names of constants that are parameters of a target: no rewrite of a launch may rely
            on their numbers.
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
        """The parts, also of a source of one file."""
        return self.parts or (FileSpan(self.name, 1, 0, len(self.text)),)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its files, the main one first."""
        return tuple(dict.fromkeys((self.name, *(part.file for part in self.parts))))

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, as it stands on disk, by the file's name."""
        texts: dict[str, list[str]] = {
            name: [BYTE_ORDER_MARK] if name in self.marked else [] for name in self.names
        }
        for part in self.stretches:
            texts[part.file].append(self.text[part.start : part.end])
        return {name: "".join(pieces) for name, pieces in texts.items()}

    def with_texts(self, texts: Sequence[str]) -> Source:
        """This source with another text for each of :attr:`stretches`, in their order."""
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
    return of_text(name or path.name, data.decode("utf-8", "surrogateescape"))


def of_text(name: str, text: str) -> Source:
    """The source that is one file with this text."""
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
    """Looks up offsets in one source."""

    def __init__(self, source: Source) -> None:
        self._lines = line_starts(source.text)
        self._parts = source.stretches
        self._starts = [part.start for part in self._parts]
        # What is to be added to a line of the text to get one of the file.
        self._shifts = [p.line - bisect_right(self._lines, p.start) for p in self._parts]

    def at(self, offset: int) -> SourceLine:
        """The file and line of a character; between two parts those of the end of the first."""
        k = max(0, bisect_right(self._starts, offset) - 1)
        part = self._parts[k]
        inside = min(offset, max(part.start, part.end - 1))
        return SourceLine(part.file, bisect_right(self._lines, inside) + self._shifts[k])


def line_starts(text: str) -> list[int]:
    """The offset of each line's first character."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
