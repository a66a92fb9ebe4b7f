"""A text with counters at its branches, and the branches that the counters show as not taken."""

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
"""Sentences for a condition that is never true or never false; ``{}`` is the condition."""


class Places:
    """An index that maps offsets in a preprocessed text to files and lines, by its line markers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._markers = list(_MARKER.finditer(text))
        self._starts = [one.start() for one in self._markers]

    def at(self, offset: int) -> tuple[str, int]:
        """Return the file and line of an offset; the file is "" before the first marker."""
        number = bisect_right(self._starts, offset)
        if not number:
            return "", self._text.count("\n", 0, offset) + 1
        marker = self._markers[number - 1]
        within = self._text.count("\n", marker.end(), offset)
        return _VARIANT.sub("", marker[2]), int(marker[1]) + within - 1


def lines_of(text: str) -> dict[tuple[str, int], str]:
    """Return the non-empty lines of a preprocessed text, by file and line number."""
    places, found = Places(text), dict[tuple[str, int], str]()
    for row in re.finditer(r"^[ \t]*(?!#)\S[^\n]*", text, re.M):
        found.setdefault(places.at(row.start()), " ".join(row[0].split()))
    return found


def without_markers(text: str) -> str:
    """Return a part of a preprocessed text without line markers, with white space collapsed."""
    return " ".join(_MARKER.sub(" ", text).split())


class Gap(NamedTuple):
    """A branch that no test case takes.

    Attributes:
        words: message with a ``{}`` for the place, for example "no case makes {} true".
        text: text of the condition or label, or name of the function, with white space collapsed.
        file, line: start of that condition, label or function.
        behind: the code that does not run for that reason, with white space collapsed.
    """

    words: str
    text: str
    file: str
    line: int
    behind: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is equal for the same gap in another text, at any line."""
        return self.words, self.text, self.behind

    def __str__(self) -> str:
        return self.words.format(f"{self.file}:{self.line} ({self.text})")


@dataclass(frozen=True, slots=True)
class Fork:
    """A condition, label or function with counters for its one or two branches.

    Attributes:
        text, file, line: as in :class:`Gap`.
        first: number of the counter of the first branch: a condition is true, or a label or
            function is reached.
        second: number of the counter of the second branch: a condition is false, or the ``switch``
            of a label is reached. None for a function.
        known: number of the counter of a condition whose value the compiler knows; None for a label
            or function.
        both: True if test cases have to take the second branch as well.
        behind: the code that runs only on the first branch, and only on the second branch.
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
        """Return the branch that was not taken; None if all were, or the fork was not reached.

        Args:
            most: value of each counter, by number.
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
    """A text with counters at each fork.

    Attributes:
        counts: number of counters.
    """

    text: str
    forks: tuple[Fork, ...]
    counts: int

    def gaps(self, most: Sequence[int]) -> Iterator[Gap]:
        """Yield the branches that were not taken, outer before inner.

        Args:
            most: value of each counter, by number.
        """
        yield from filter(None, (fork.gap(most) for fork in self.forks))
