"""The layout of rewritten code: indentation and unused names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, statements
from gi_cuda.grammar.splice import Splice, indent, line_start, replacing

_FIXED = re.compile(r'R"|\\\r?\n')


def fresh(name: str, code: Code, function: Function, taken: Collection[str] = ()) -> str:
    """Return an unused name: the given name, or the next free name with a number.

    Neither the function nor a macro uses the name.

    Args:
        taken: further names that are in use.
    """
    words = code.words(function.node) | code.macros.keys() | frozenset(taken)
    number, found = 1, name
    while found in words:
        number += 1
        found = f"{name}{number}"
    return found


def unit(code: Code, function: Function) -> str:
    """Return the white space by which the statements of a function are indented."""
    first = statements(function.body)[0].start_byte
    inner = indent(code.text, first)
    outer = indent(code.text, line_start(code.text, function.node.start_byte))
    step = inner.removeprefix(outer)
    return step or "    "


def indented(code: Code, start: int, end: int, step: str) -> Iterator[Splice]:
    """Indent the lines that begin in a span, blank ones and directives apart."""
    text = code.text
    if _FIXED.search(text, start, end):
        return
    at = text.find("\n", start) + 1
    while 0 < at < end:
        until = text.find("\n", at)
        line = text[at : until if until >= 0 else len(text)]
        if line.strip() and at + len(line) - len(line.lstrip()) < end:
            yield replacing(at, at, step)
        at = until + 1 if until >= 0 else 0
