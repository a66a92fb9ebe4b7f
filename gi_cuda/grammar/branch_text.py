"""A text with counts of the ways that its code takes, and what counts say of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_MARKER = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:\\.|[^"\\])*)".*', re.M)
_VARIANT = re.compile(r"\Av\d+/")


_TRUE, _FALSE = "no case makes {} true", "no case makes {} false"
CONDITIONAL = (_TRUE, _FALSE)
"""How a gap of a condition is said."""


class Places:
    """Files and lines of a preprocessed text, by its line markers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._markers = list(_MARKER.finditer(text))
        self._starts = [one.start() for one in self._markers]

    def at(self, offset: int) -> tuple[str, int]:
        """File and line of a character; no file in front of the first marker."""
        number = bisect_right(self._starts, offset)
        if not number:
            return "", self._text.count("\n", 0, offset) + 1
        marker = self._markers[number - 1]
        within = self._text.count("\n", marker.end(), offset)
        return _VARIANT.sub("", marker[2]), int(marker[1]) + within - 1


def lines_of(text: str) -> dict[tuple[str, int], str]:
    """The lines of a preprocessed text that say something, by file and number."""
    places, found = Places(text), dict[tuple[str, int], str]()
    for row in re.finditer(r"^[ \t]*(?!#)\S[^\n]*", text, re.M):
        found.setdefault(places.at(row.start()), " ".join(row[0].split()))
    return found


def without_markers(text: str) -> str:
    """A part of a preprocessed text with white space made one, and no line markers."""
    return " ".join(_MARKER.sub(" ", text).split())


class Gap(NamedTuple):
    """A way that no case takes.

    Attributes:
        words: how it is said, with a place for what it is of.
        text: of the condition, label or function's head, white space made one.
        file, line: where that begins.
        behind: the code that does not run therefore, white space made one.
    """

    words: str
    text: str
    file: str
    line: int
    behind: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The same for the same gap in another text, wherever it is."""
        return self.words, self.text, self.behind

    def __str__(self) -> str:
        return self.words.format(f"{self.file}:{self.line} ({self.text})")


@dataclass(frozen=True, slots=True)
class Fork:
    """A place from which code goes on in one of two ways.

    Attributes:
        text, file, line: as of :class:`Gap`.
        first: number of the count of a condition that is true, or of a label or function that is
            reached.
        second: number of the count of the other way; None of a function.
        known: number of the count of a condition whose value the compiler knew; None of a label
            and of a function.
        both: whether the second way has to be taken as well.
        behind: the code that runs on the first way alone, and that on the second way alone.
    """

    text: str
    file: str
    line: int
    first: int
    second: int | None
    known: int | None
    both: bool
    behind: tuple[str, str] = ("", "")

    def gap(self, most: Sequence[int]) -> Gap | None:
        """The way that was not taken; None where each was, or the place was not reached.

        Args:
            most: the counts by their numbers.
        """
        if self.known is not None and most[self.known]:
            return None
        second = self.second is None or most[self.second]
        if second and not most[self.first]:
            words = "no case reaches {}" if self.known is None else _TRUE
        elif self.both and most[self.first] and not second:
            words = _FALSE
        else:
            return None
        behind = self.behind[0] if second else self.behind[1]
        return Gap(words, self.text, self.file, self.line, behind)


@dataclass(frozen=True, slots=True)
class BranchText:
    """A text in which each fork counts.

    Attributes:
        counts: how many counts there are.
    """

    text: str
    forks: tuple[Fork, ...]
    counts: int

    def gaps(self, most: Sequence[int]) -> Iterator[Gap]:
        """The ways that were not taken, outer before inner."""
        yield from filter(None, (fork.gap(most) for fork in self.forks))
