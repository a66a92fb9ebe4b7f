"""Changing places of a text, and finding where brackets end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

Change: TypeAlias = tuple[int, int, str]
"""A part of the text, by begin and end, and what comes in its place."""

_BRACKET: Final = re.compile(r"""[(){}]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""")


def changed(text: str, word: str, change: Callable[[str, int], Change | None]) -> str:
    """The text with a change wherever the word stands and there is one to be made.

    Most texts have no such word, and looking for one costs next to nothing.
    """
    pieces: list[str] = []
    done = 0
    at = text.find(word)
    while at >= 0:
        found = change(text, at)
        if found is not None and found[0] >= done:
            begin, end, replacement = found
            pieces += text[done:begin], replacement
            done = end
        at = text.find(word, max(done, at + len(word)))
    return "".join([*pieces, text[done:]]) if pieces else text


def closing(text: str, at: int) -> int:
    """Where what the parenthesis or brace at this place opens has ended; the text's end if it does
    not."""
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)
