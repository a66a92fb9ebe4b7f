"""Layout of statements in a text, found by brackets and keywords without a parser."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Start and end offset in a text."""

_CONTROL = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|default|return|break|continue|goto|try|catch|asm"
    r"|__asm__)\b|(?<![?:])\b\w+\s*:(?!:)"
)
"""Keywords and labels at which control may not simply pass to the next statement."""

_LABEL = re.compile(r"\b(?:case|default)\b|(?:^|[;{}])\s*\w+\s*:(?!:)")
_HEAD = re.compile(r"\b(?:if|for|while|switch)\b(?:\s*constexpr\b)?\s*(?=\()")
_IF = re.compile(r"\bif\s*\(\s*\Z")
_ELSE = re.compile(r"else\b")
_UNTOLD = re.compile(r"(?:do|try|case|default)\b|\w+\s*:(?!:)")
"""Starts of statements whose end is not searched."""
_BLANK = re.compile(r"\s*")
_PAIRS = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Layout:
    """The layout of statements in a text.

    Attributes:
        bare: the text without comments, directives and literals.
    """

    bare: str

    def in_line(self, at: int, earliest: int) -> Span:
        """Return the span that is reached only if a place directly in a block is reached.

        The span contains the rest of the block up to a label, and the declarations just before the
        place.

        Args:
            at: offset of the place.
            earliest: end of the statement before it.
        """
        opened, closed = self._block(at)
        label = _LABEL.search(self.bare, at, closed)
        if head := _IF.search(self.bare, opened + 1, at):
            at = head.start()
        before = max(opened + 1, self.bare.rfind("}", opened, at) + 1, earliest)
        for jump in _CONTROL.finditer(self.bare, before, at):
            before = self._statement(jump.start()) or at
        return min(before, at), label.start() if label else closed

    def branches(self, condition_end: int) -> Sequence[Span]:
        """Return the spans of an ``if``'s branches; the second includes its ``else``.

        The result is empty or has one branch if there are no more, or if they are not recognised.
        """
        close = self._next(condition_end)
        end = self._statement(close + 1) if self.bare.startswith(")", close) else None
        if end is None:
            return ()
        otherwise, then = self._next(end), (close + 1, end)
        last = self._otherwise(end)
        return (then,) if last is None else (then, (otherwise, last))

    def _statement(self, at: int) -> int | None:
        """Return the end of the statement that begins at or after an offset; None if unknown."""
        at = self._next(at)
        if self.bare.startswith("{", at):
            return self._matching(at)
        if head := _HEAD.match(self.bare, at):
            closed = self._matching(head.end())
            end = None if closed is None else self._statement(closed)
            if end is None or not head[0].startswith("if"):
                return end
            return self._otherwise(end) if _ELSE.match(self.bare, self._next(end)) else end
        if _UNTOLD.match(self.bare, at):
            return None
        while at < len(self.bare) and self.bare[at] not in ";}":
            over = self._matching(at) if self.bare[at] in _PAIRS else at + 1
            if over is None:
                return None
            at = over
        return at + 1 if self.bare.startswith(";", at) else None

    def _otherwise(self, end: int) -> int | None:
        """Return the end of the ``else`` that follows a statement's end; None if there is none."""
        word = _ELSE.match(self.bare, self._next(end))
        return None if word is None else self._statement(word.end())

    def _next(self, at: int) -> int:
        """Return the next offset that is not blank."""
        found = _BLANK.match(self.bare, at)
        return at if found is None else found.end()

    def _matching(self, at: int) -> int | None:
        """Return the offset behind the bracket that closes the one at ``at``, or None."""
        return self._pairs.get(at)

    def _block(self, at: int) -> Span:
        """Return the span of the innermost braces around an offset."""
        around = bisect_left(self._opened, at) - 1
        while around >= 0:
            opened = self._opened[around]
            if (end := self._pairs.get(opened, 0)) > at:
                return opened, end - 1
            around -= 1
        return 0, len(self.bare)

    @cached_property
    def _opened(self) -> list[int]:
        return [at for at, one in enumerate(self.bare) if one == "{"]

    @cached_property
    def _pairs(self) -> dict[int, int]:
        """For each opening bracket, by offset, the offset behind its closing bracket."""
        found, stack = {}, []
        for match in re.finditer(r"[(){}\[\]]", self.bare):
            if match[0] in _PAIRS:
                stack.append((match[0], match.start()))
            elif stack and _PAIRS[stack[-1][0]] == match[0]:
                found[stack.pop()[1]] = match.end()
        return found
