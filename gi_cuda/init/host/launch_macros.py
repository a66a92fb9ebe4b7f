"""Host code with the macros written out that stand between it and its launches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.grammar.frontends.cuda.file import CudaFile, of_source
from gi_cuda.grammar.presence import TOKENS, Macro

_WORD = re.compile(r"[A-Za-z_]\w*")
_CONTINUED = re.compile(r"\\\r?\n")
_NOTED = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_EXPRESSION = re.compile(r"[^;{}#\"']+")
_QUOTED = re.compile(r"(?<!#)#(?!#)\s*\w+")
_OPENING, _CLOSING = "([{", ")]}"
_DEPTH = 8
"""Macros within macros that are written out."""

_MOST = 1 << 17
"""Characters that macros of a file stand for, at most: one of ten others can have any number."""


@dataclass
class _Room:
    """How many more characters may be written out in a file."""

    left: int = _MOST


def written_out(code: CudaFile, around: Sequence[CudaFile] = ()) -> CudaFile:
    """A source in which calls of some macros are replaced by what they stand for.

    These are macros with parameters that launch a kernel, or get a launch, or stand for an
    expression. Names without parameters stay: they may become parameters of a target. Every line
    stays the line that it is.
    """
    macros: dict[str, Macro] = {}
    for one in (code, *around):
        for macro in one.macros.values():
            macros.setdefault(macro.name, macro)
    launching = {name for name, macro in macros.items() if "<<<" in macro.body}
    for _ in range(_DEPTH):
        launching |= {name for name, one in macros.items() if one.free_names & launching}
    usable = {
        name: macro
        for name, macro in macros.items()
        if name in launching or (macro.parameters is not None and _is_expression(macro))
    }
    takes = {name: one for name, one in macros.items() if one.parameters is not None}
    if not usable and "<<<" not in code.text:
        return code
    texts = [code.text[part.start : part.end] for part in code.source.stretches]
    room = _Room()
    new = [_replaced(text, usable, takes, room) for text in texts]
    if new == texts:
        return code
    return of_source(code.path, code.source.with_texts(new))


def _is_expression(macro: Macro) -> bool:
    return bool(macro.body) and _EXPRESSION.fullmatch(_plain(macro.body)) is not None


def _plain(body: str) -> str:
    return _NOTED.sub(" ", _CONTINUED.sub(" ", body)).strip()


def _replaced(
    text: str,
    usable: Mapping[str, Macro],
    takes: Mapping[str, Macro],
    room: _Room,
    depth: int = 0,
) -> str:
    """A text with its calls of macros written out, as long as there is room.

    Args:
        usable: macros that are always.
        takes: those that are where what they get launches a kernel.
    """
    if depth > _DEPTH:
        return text
    pieces, done = [], 0
    # Nothing in comments, literals and directives is called.
    quiet = [(match.start(), match.end()) for match in TOKENS.finditer(text)]
    index = 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        while index < len(quiet) and quiet[index][1] <= start:
            index += 1
        if start < done or (index < len(quiet) and quiet[index][0] <= start):
            continue
        macro = usable.get(match[0]) or takes.get(match[0])
        if macro is None:
            continue
        given: list[str] = []
        if macro.parameters is not None:
            called = _arguments(text, end)
            if called is None:
                continue
            given, end = called
            if match[0] not in usable and not any("<<<" in one for one in given):
                continue
        inner = {name: one for name, one in usable.items() if name != match[0]}
        filled = _filled(macro, given)
        room.left -= len(filled)
        if room.left < 0:
            break
        new = _replaced(filled, inner, takes, room, depth + 1)
        pieces += [text[done:start], new, "\n" * text.count("\n", start, end)]
        done = end
    return "".join([*pieces, text[done:]])


def _arguments(text: str, at: int) -> tuple[list[str], int] | None:
    """The arguments of a call whose name ends at an offset, and where it ends."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] != "(":
        return None
    depth, start = 0, at + 1
    found: list[str] = []
    for k in range(at, len(text)):
        character = text[k]
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        if (depth == 1 and character == ",") or depth == 0:
            found.append(" ".join(_plain(text[start:k]).split()))
            start = k + 1
        if depth == 0:
            return found, k + 1
    return None


def _filled(macro: Macro, given: Sequence[str]) -> str:
    """A macro's body for some arguments, in one line."""
    names = macro.parameters or ()
    values = dict(zip(names, given, strict=False))
    values["__VA_ARGS__"] = ", ".join(given[len(names) :])
    body = " ".join(_plain(macro.body).split())
    body = _QUOTED.sub('""', body)
    body = _WORD.sub(lambda match: values.get(match[0], match[0]), body)
    return re.sub(r"\s*##\s*", "", body)
