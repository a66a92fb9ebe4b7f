"""Values of named numbers in a source: macros without parameters, and constants."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, constants_in
from gi_cuda.spec.expression import ExpressionError, parse

LONGEST = 2000
"""Largest number of characters of an expanded expression, which may grow exponentially."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_FOLLOWED = 8


def constant(code: CudaFile, text: str) -> int | None:
    """Return the value of an expression of a source's macros and constants; None if unknown."""
    return evaluated(text, named(code))


def evaluated(text: str, known: Mapping[str, str]) -> int | None:
    """Return the value of an expression of named numbers; None if it is not known.

    Args:
        text: the expression: ``2 * TILE``.
        known: the text that each name stands for: ``{"TILE": "16"}``.
    """
    for _ in range(_FOLLOWED):
        if not known.keys() & _WORD.findall(text):
            break
        text = _WORD.sub(lambda m: f"({known.get(m[0], m[0])})", text)
        if len(text) > LONGEST:
            return None
    try:
        return parse(text).evaluate({})
    except ExpressionError:
        return None


def named(code: CudaFile) -> dict[str, str]:
    """Return the text that each name stands for, in a source or its included headers."""
    found: dict[str, str] = {}
    for one in (code, *code.around):
        for macro in one.macros.values():
            if macro.parameters is None and macro.body:
                found.setdefault(macro.name, macro.body)
        for name, body in constants_in(one.text):
            found.setdefault(name, body)
    return found
