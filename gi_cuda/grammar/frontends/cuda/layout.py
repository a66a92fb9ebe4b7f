"""How statements stand in a text: told by its brackets and words, where nothing is parsed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Where something begins in a text, and where it ends."""

_CONTROL = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|default|return|break|continue|goto|try|catch|asm"
    r"|__asm__)\b|(?<![?:])\b\w+\s*:(?!:)"
)
"""Where a statement may go elsewhere than to the next one, or be come to from elsewhere."""

_LABEL = re.compile(r"\b(?:case|default)\b|(?:^|[;{}])\s*\w+\s*:(?!:)")
_HEAD = re.compile(r"\b(?:if|for|while|switch)\b(?:\s*constexpr\b)?\s*(?=\()")
_IF = re.compile(r"\bif\s*\(\s*\Z")
_ELSE = re.compile(r"else\b")
_UNTOLD = re.compile(r"(?:do|try|case|default)\b|\w+\s*:(?!:)")
"""What begins a statement whose end is not looked for."""
_BLANK = re.compile(r"\s*")
_PAIRS = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Layout:
    """How statements stand in a text.

    Attributes:
        bare: the text without comments, directives and literals.
    """

    bare: str

    def in_line(self, at: int, earliest: int) -> Span:
        """What is reached only if a place is that stands directly in a block: the rest of that
        block, up to a label; and what is declared just before it.

        Args:
            earliest: the end of the statement before it.
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
        """The branches of an ``if``, the second with its ``else``: none or one where there are no
        more, or it is not to be told."""
        close = self._next(condition_end)
        end = self._statement(close + 1) if self.bare.startswith(")", close) else None
        if end is None:
            return ()
        otherwise, then = self._next(end), (close + 1, end)
        last = self._otherwise(end)
        return (then,) if last is None else (then, (otherwise, last))

    def _statement(self, at: int) -> int | None:
        """Where the statement ends that begins at a place or after it."""
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
        """Where an ``else`` ends that follows what ends at a place; None where none does."""
        word = _ELSE.match(self.bare, self._next(end))
        return None if word is None else self._statement(word.end())

    def _next(self, at: int) -> int:
        """The next place that is not blank."""
        found = _BLANK.match(self.bare, at)
        return at if found is None else found.end()

    def _matching(self, at: int) -> int | None:
        """Where what is opened at a place ends; None where it does not."""
        return self._pairs.get(at)

    def _block(self, at: int) -> Span:
        """The innermost braces around a place."""
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
        """Where each bracket's part ends, behind its closing one."""
        found, stack = {}, []
        for match in re.finditer(r"[(){}\[\]]", self.bare):
            if match[0] in _PAIRS:
                stack.append((match[0], match.start()))
            elif stack and _PAIRS[stack[-1][0]] == match[0]:
                found[stack.pop()[1]] = match.end()
        return found
