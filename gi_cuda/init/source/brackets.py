"""Find unclosed brackets and comments of a source, which hide a kernel from the parser."""

from __future__ import annotations

import re
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import read_source
from gi_cuda.grammar.frontends.cuda.text.includes import IncludingText
from gi_cuda.grammar.presence import TOKENS

_PAIRS = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")


def unclosed(source: Path) -> UserError | None:
    """Return an error for the first unclosed bracket or comment in a source or its headers, or
    None.

    Call it only if a source cannot be read or compiled: macros may hold unbalanced brackets as
    well.
    """
    files = [source]
    for file in files:
        try:
            text = IncludingText(read_source(file).text)
        except UserError:
            continue
        if found := _slip(text):
            at, what = found
            return UserError(
                f"the source does not compile: {what}",
                where=f"{file}:{text.text.count(chr(10), 0, at) + 1}",
                hint="mend it; nothing is written",
            )
        near = (file.parent / one.name for one in text.includes if one.quoted)
        files += [one for one in near if one.is_file() and one not in files]
    return None


def _slip(text: IncludingText) -> tuple[int, str] | None:
    """Return offset and message of an unbalanced bracket or comment; None if there is none."""
    for token in TOKENS.finditer(text.text):
        if token[0].startswith("/*") and not token[0][2:].endswith("*/"):
            return token.start(), "this comment is not closed"
    bare = _first_branches(text)
    opened: list[tuple[int, int]] = []  # each bracket, and where its statement begins
    head = 0
    odd: tuple[int, str] | None = None
    for match in _BRACKET.finditer(bare):
        bracket, at = match[0], match.start()
        if bracket in "([{":
            opened.append((at, head if bare[:at].rstrip().endswith(")") else at))
            continue
        if not opened:
            return odd or (at, f"this '{bracket}' closes nothing")
        last, head = opened.pop()
        if bare[last] != _PAIRS[bracket]:
            return odd or (last, f"this '{bare[last]}' is not closed")
        if bracket == "}":
            odd = odd or _indented_otherwise(bare, head, last, at)
    if not opened:
        return None
    last, _ = opened[-1]
    return odd or (last, f"this '{bare[last]}' is not closed")


def _indented_otherwise(bare: str, head: int, last: int, at: int) -> tuple[int, str] | None:
    """Return the brace to blame if a closing one is not indented like the statement it closes.

    Args:
        head: begin of the statement that ``last`` opens and ``at`` closes.
    """
    begin, end = (bare.rfind("\n", 0, place) + 1 for place in (head, at))
    if begin == end or bare[end:at].strip():
        return None
    line = bare[begin : bare.index("\n", begin)].expandtabs()
    outer, inner = len(line) - len(line.lstrip()), len(bare[end:at].expandtabs())
    if inner < outer:
        return last, "this '{' is not closed"
    return (at, "this '}' closes nothing: is a '{' missing above?") if inner > outer else None


def _first_branches(text: IncludingText) -> str:
    """Return a text without comments, literals, ``#if 0`` and all branches but the first."""
    bare = list(text.bare)
    branches: list[int | None] = []
    for one in text.presence.directives:
        if one.word in ("if", "ifdef", "ifndef"):
            branches.append(one.end if one.rest.split() == ["0"] else None)
        elif branches and one.word in ("elif", "else", "endif"):
            begin = branches.pop()
            if begin is not None:
                span = slice(begin, one.start)
                bare[span] = ["\n" if c == "\n" else " " for c in bare[span]]
            if one.word != "endif":
                branches.append(one.end)
    return "".join(bare)
