"""Text replacements (splices) in a source, and helpers for the layout of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from gi_cuda.grammar.source import FileSpan, Source


class Phase(IntEnum):
    """The order of splices at one offset."""

    CLOSE = 0
    OPEN = 1
    TEXT = 2


class Splice(NamedTuple):
    """A replacement of the span ``start:end`` by a text; an empty span makes it an insertion.

    At one offset, closers come first (inner before outer), then openers (outer before inner), then
    text. ``depth`` sorts the closers and openers.
    """

    start: int
    phase: Phase
    depth: int
    end: int
    text: str


def opening(start: int, end: int, text: str) -> Splice:
    """Return a splice that inserts ``text`` in front of the construct ``start:end``."""
    return Splice(start, Phase.OPEN, -end, start, text)


def closing(start: int, end: int, text: str) -> Splice:
    """Return a splice that inserts ``text`` behind the construct ``start:end``."""
    return Splice(end, Phase.CLOSE, -start, end, text)


def replacing(start: int, end: int, text: str) -> Splice:
    """Return a splice that replaces ``start:end`` by ``text``."""
    return Splice(start, Phase.TEXT, 0, end, text)


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Apply splices whose spans do not overlap."""
    parts, at = [], 0
    for one in sorted(splices):
        parts.append(text[at : one.start])
        parts.append(one.text)
        at = one.end
    parts.append(text[at:])
    return "".join(parts)


def shifted(splices: Iterable[Splice], part: FileSpan) -> list[Splice]:
    """Return the splices inside a part of a source, with offsets relative to the part."""
    return [
        one._replace(start=one.start - part.start, end=one.end - part.start)
        for one in splices
        if part.start <= one.start and one.end <= part.end
    ]


def spliced(source: Source, splices: Iterable[Splice]) -> Source:
    """Apply splices to a source of one or more files; each splice must lie in one part."""
    ordered = sorted(splices)
    return source.with_texts(
        [
            splice(source.text[part.start : part.end], shifted(ordered, part))
            for part in source.stretches
        ]
    )


def line_start(text: str, at: int) -> int:
    """Return the offset at which the line that contains ``at`` starts."""
    return text.rfind("\n", 0, at) + 1


def newline(text: str, at: int) -> str:
    """Return the line ending of the line that contains ``at``, or of the line above it."""
    end = text.find("\n", at)
    if end < 0:
        end = text.rfind("\n", 0, at)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def is_first(text: str, at: int) -> bool:
    """Tell whether only white space precedes ``at`` on its line."""
    return not text[line_start(text, at) : at].strip(" \t")


def indent(text: str, at: int) -> str:
    """Return the leading white space of the line that contains ``at``, up to ``at``."""
    before = text[line_start(text, at) : at]
    return before[: len(before) - len(before.lstrip(" \t"))]


def removing(text: str, start: int, end: int, rest: re.Pattern[str]) -> Splice:
    """Return a splice that removes ``start:end``, or its whole lines if nothing else is on them.

    Args:
        rest: pattern for the rest of the line that may be removed as well.
    """
    after = rest.match(text, end)
    if after is None or not is_first(text, start):
        return replacing(start, end, "")
    return replacing(line_start(text, start), after.end(), "")


def separator(text: str, at: int) -> str:
    """Return the white space between a statement inserted at ``at`` and the text that follows."""
    return newline(text, at) + indent(text, at) if is_first(text, at) else " "
