"""Where offsets into a source's text are in its files."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from gi_cuda.grammar.rule import Source


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
