"""Put statements before and after a loop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.code import Code
from gi_cuda.grammar.splice import Splice, indent, is_first, line_start, newline, replacing

_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b")
_BLANK = re.compile(r"\s|//[^\n]*|/\*.*?\*/|#[ \t]*pragma\b[^\n]*", re.DOTALL)
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*\*/)[ \t]*\r?$", re.MULTILINE)


def around(
    code: Code, loop: Node, before: Sequence[str], after: Sequence[str]
) -> list[Splice] | None:
    """Put statements before a loop with its pragmas, and others after it.

    A loop that is the body of another statement, without braces, gets them::

        for (int i = 0; i < n; i++)
            for (...) ...

        for (int i = 0; i < n; i++) {
            BEFORE
            for (...) ...
            AFTER
        }

    Returns:
        None if something else than pragmas and comments stands directly before the loop, or if it
        is the body of a statement before an ``#if``.
    """
    text, parent, previous = code.text, loop.parent, loop.prev_sibling
    if parent is None or previous is None:
        return None
    if _BLANK.sub("", text[previous.end_byte : loop.start_byte]):
        return None
    start, end = _first(text, loop.start_byte), loop.end_byte
    gap, lined = newline(text, start), is_first(text, start)
    joint = gap + indent(text, loop.start_byte) if lined else " "
    comment = _COMMENT.match(text, end) if lined else None
    end = end if comment is None else comment.end()
    head = "".join(one + joint for one in before)
    tail = "".join(joint + one for one in after)
    block = parent
    while block.type.startswith("preproc_") and block.parent is not None:
        block = block.parent
    if block.type == "compound_statement":
        return [replacing(start, start, head), replacing(end, end, tail)]
    if block != parent:
        return None
    if not lined:
        return [replacing(start, start, f"{{ {head}"), replacing(end, end, f"{tail} }}")]
    outer = indent(text, parent.start_byte)
    return [
        replacing(previous.end_byte, previous.end_byte, " {"),
        replacing(start, start, head),
        replacing(end, end, f"{tail}{gap}{outer}}}"),
    ]


def _first(text: str, at: int) -> int:
    """Find where the pragmas directly before a loop begin; else the loop itself."""
    if not is_first(text, at):
        return at
    first = line_start(text, at)
    while first and _PRAGMA.match(text, above := line_start(text, first - 1)):
        first = above
    line = text[first : at if first == line_start(text, at) else text.find("\n", first)]
    return first + len(line) - len(line.lstrip(" \t"))
