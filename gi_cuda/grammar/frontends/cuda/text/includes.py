"""The ``#include`` lines of a CUDA file, and checks whether a header's text can replace them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from gi_cuda.grammar.frontends.cuda.text.reading import bare_text, is_balanced
from gi_cuda.grammar.presence import Directive, Presence, read_presence

_SPELLED = re.compile(r"""\s*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>)""")
_GUARD = re.compile(r"\s*(?P<name>\w+)\s*|\s*!\s*defined\s*\(?\s*(?P<other>\w+)\s*\)?\s*")
_SCOPE_OPENS = re.compile(r'(?:\bnamespace\b[^;{}()]*|\bextern\s*"+\s*)\Z')
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Include:
    """An ``#include`` line.

    Attributes:
        name: the header as spelled.
        quoted: True if the name is in quotes, False if in angle brackets.
        line: number of the line, from 1.
        start, end: span of the line or lines, line end included.
        region: presence region of the line.
    """

    name: str
    quoted: bool
    line: int
    start: int
    end: int
    region: int


@dataclass(frozen=True)
class IncludingText:
    """A file's text with its includes and include guard."""

    text: str

    @cached_property
    def presence(self) -> Presence:
        """The conditional structure of the text."""
        return read_presence(self.text)

    @cached_property
    def bare(self) -> str:
        """The text without comments, directives and literals, with equal offsets."""
        return bare_text(self.text)

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The ``#include`` lines that name a header."""
        found = []
        for directive in self.presence.directives:
            spelled = _SPELLED.match(directive.rest) if directive.word == "include" else None
            if spelled is None:
                continue
            newline = self.text.find("\n", directive.end)
            end = len(self.text) if newline < 0 else newline + 1
            name = spelled["quoted"] or spelled["angled"]
            line = self.text.count("\n", 0, directive.start) + 1
            quoted = spelled["quoted"] is not None
            found.append(Include(name, quoted, line, directive.start, end, directive.region))
        return tuple(found)

    @cached_property
    def guard(self) -> int | None:
        """The region of the include guard; 0 for ``#pragma once``; None if there is no guard."""
        directives = self.presence.directives
        if any(
            d.word == "pragma" and d.rest.split()[:1] == ["once"] and d.region == 0
            for d in directives
        ):
            return 0
        if len(directives) < 3:
            return None
        first, second, last = directives[0], directives[1], directives[-1]
        name = _guarded_name(first)
        whole = (
            name is not None
            and second.word == "define"
            and second.rest.split()[:1] == [name]
            and last.word == "endif"
            and not any(d.region == 0 for d in directives[1:-1])
            and not (self.bare[: first.start] + self.bare[last.end :]).strip()
        )
        return 1 if whole else None

    def conditions(self, region: int) -> frozenset[int]:
        """Return a region and those around it, without the include guard's region."""
        found = set()
        while region:
            found.add(region)
            region = self.presence.parents[region]
        return frozenset(found - {self.guard})

    @property
    def is_made_of_declarations(self) -> bool:
        """Tell whether the text is a sequence of whole declarations."""
        body = self.bare.strip()
        return body == "" or (body[-1] in ";}" and is_balanced(body))

    def is_between_declarations(self, at: int) -> bool:
        """Tell whether an offset is between declarations of the file or of a namespace."""
        before = self.bare[:at].rstrip()
        if before and before[-1] not in ";{}":
            return False
        opened: list[int] = []
        for match in _BRACKET.finditer(before):
            if match[0] in "([{":
                opened.append(match.start())
            elif not opened:
                return False
            else:
                opened.pop()
        return all(_SCOPE_OPENS.search(before[max(0, k - 300) : k]) for k in opened)


_BRACKET = re.compile(r"[()\[\]{}]")


def _guarded_name(directive: Directive) -> str | None:
    """Return the macro of an ``#ifndef`` or ``#if !defined``; None for other directives."""
    match = _GUARD.fullmatch(_COMMENT.sub(" ", directive.rest))
    if match is None or directive.word not in ("ifndef", "if"):
        return None
    return match["name"] if directive.word == "ifndef" else match["other"]
