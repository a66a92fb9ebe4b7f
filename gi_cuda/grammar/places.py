"""Where offsets into a source's text are in its files."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from gi_cuda.grammar.model import Source


class Place(NamedTuple):
    """A line of a file; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Places:
    """Looks up offsets in one source."""

    def __init__(self, source: Source) -> None:
        self._lines = line_starts(source.text)
        self._parts = source.stretches
        self._starts = [part.start for part in self._parts]

    def at(self, offset: int) -> Place:
        """The file and line of a character; between two parts those of the end of the first."""
        part = self._parts[max(0, bisect_right(self._starts, offset) - 1)]
        inside = min(offset, max(part.start, part.end - 1))
        before = bisect_right(self._lines, part.start)
        return Place(part.file, part.line + bisect_right(self._lines, inside) - before)


def line_starts(text: str) -> list[int]:
    """The offset of each line's first character."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
