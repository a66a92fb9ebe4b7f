"""Splices into a source text, and how that text is laid out around a place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from gi_cuda.grammar.source import FileSpan, Source


class Phase(IntEnum):
    """In which order splices at one offset take their place."""

    CLOSE = 0
    OPEN = 1
    TEXT = 2


class Splice(NamedTuple):
    """Text that stands for the span ``start:end`` (empty: an insertion).

    At one offset, closers come first, inner before outer, then openers, outer before inner, then
    text; ``depth`` puts them in that order.
    """

    start: int
    phase: Phase
    depth: int
    end: int
    text: str


def opening(start: int, end: int, text: str) -> Splice:
    """Put ``text`` in front of the construct ``start:end``."""
    return Splice(start, Phase.OPEN, -end, start, text)


def closing(start: int, end: int, text: str) -> Splice:
    """Put ``text`` behind the construct ``start:end``."""
    return Splice(end, Phase.CLOSE, -start, end, text)


def replacing(start: int, end: int, text: str) -> Splice:
    """Put ``text`` in the place of ``start:end``."""
    return Splice(start, Phase.TEXT, 0, end, text)


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Apply splices that take no text twice."""
    parts, at = [], 0
    for one in sorted(splices):
        parts.append(text[at : one.start])
        parts.append(one.text)
        at = one.end
    parts.append(text[at:])
    return "".join(parts)


def shifted(splices: Iterable[Splice], part: FileSpan) -> list[Splice]:
    """The splices that lie in a part of a source, as ones of its text alone."""
    return [
        one._replace(start=one.start - part.start, end=one.end - part.start)
        for one in splices
        if part.start <= one.start and one.end <= part.end
    ]


def spliced(source: Source, splices: Iterable[Splice]) -> Source:
    """A source with splices applied, in its files; none of them lies across two of its parts."""
    ordered = sorted(splices)
    return source.with_texts(
        [
            splice(source.text[part.start : part.end], shifted(ordered, part))
            for part in source.stretches
        ]
    )


def line_start(text: str, at: int) -> int:
    """Where the line that holds ``at`` starts."""
    return text.rfind("\n", 0, at) + 1


def newline(text: str, at: int) -> str:
    """The line ending that the text uses at ``at``: that of its line, or of the one above."""
    end = text.find("\n", at)
    if end < 0:
        end = text.rfind("\n", 0, at)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def is_first(text: str, at: int) -> bool:
    """Whether only white space stands before ``at`` on its line."""
    return not text[line_start(text, at) : at].strip(" \t")


def indent(text: str, at: int) -> str:
    """The white space that the line of ``at`` starts with, up to ``at``."""
    before = text[line_start(text, at) : at]
    return before[: len(before) - len(before.lstrip(" \t"))]


def removing(text: str, start: int, end: int, rest: re.Pattern[str]) -> Splice:
    """Take away ``start:end``, and its whole line where it has that for itself.

    Args:
        rest: what may follow on such a line.
    """
    after = rest.match(text, end)
    if after is None or not is_first(text, start):
        return replacing(start, end, "")
    return replacing(line_start(text, start), after.end(), "")


def separator(text: str, at: int) -> str:
    """What separates a statement put in front of ``at`` from what stands there."""
    return newline(text, at) + indent(text, at) if is_first(text, at) else " "
