"""Values that a source gives to macros and constants, and other values in their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gi_cuda.grammar.presence import Macro, read_presence
from gi_cuda.grammar.source import Source

_LINE = re.compile(
    r"""(?P<head>[ \t]*\#[ \t]*define[ \t]+\w+)(?P<gap>[ \t]*)
        (?P<value>(?:\\\r?\n|\\(?!\r?\n)|[^\\\r\n])*?)
        (?P<tail>[ \t]*(?:/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*)*
          (?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*)?\r?)$""",
    re.MULTILINE | re.VERBOSE,
)
_CONSTANT = re.compile(
    r"\b(?:const|constexpr)\b[\w\s:]*?\b(?P<name>\w+)\s*[={]\s*(?P<value>\d\w*)(?=\s*[;,}])"
)
"""A constant that is declared to be a number."""
_CONTINUED = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def said(body: str) -> str:
    """What a macro's body says, without comments, blanks made one."""
    return " ".join(_COMMENT.sub(" ", _CONTINUED.sub(" ", body)).split())


def in_force(text: str, known: Mapping[str, str]) -> Iterator[Macro]:
    """The definitions of plain macros that a compiler takes of a source, in order.

    Args:
        known: macros that are defined in front of it.
    """
    presence = read_presence(text)
    active = presence.active(known)
    for macro in presence.macros():
        if macro.parameters is None and active[macro.directive.region]:
            yield macro


class Constant(NamedTuple):
    """A constant that a text declares to be a number.

    Attributes:
        value: the number as it is written.
        start: offset of the name.
    """

    name: str
    value: str
    start: int


def constants_said(text: str) -> Iterator[Constant]:
    """All constants that a text declares to be numbers, in comments too."""
    for one in _CONSTANT.finditer(text):
        yield Constant(one["name"], one["value"], one.start("name"))


def with_constants(text: str, values: Mapping[str, str | None]) -> str:
    """A text whose constants have other numbers.

    Args:
        values: by name; what the text does not declare to be a number is left alone.
    """

    def changed(match: re.Match[str]) -> str:
        value = values.get(match["name"])
        if value is None:
            return match[0]
        return match[0][: match.start("value") - match.start()] + value

    return _CONSTANT.sub(changed, text) if values else text


def define_line(text: str, start: int) -> re.Match[str] | None:
    """The ``#define`` line that begins at a place of a text; None where it is not plain."""
    return _LINE.match(text, start)


def valued(line: re.Match[str], value: str) -> str:
    """A ``#define`` line with another value."""
    return f"{line['head']}{line['gap'] or ' '}{value}{line['tail']}"


def with_values(
    source: Source,
    values: Mapping[str, str | None],
    known: Mapping[str, str],
    kept: Mapping[str, Collection[str]],
) -> tuple[Source, frozenset[str]]:
    """A source in which the definitions that count and constants have other values, and the names
    of which there are any.

    Args:
        values: by macro or constant; None: the macro is no longer defined.
        known: macros that are defined in front of the source.
        kept: for macros, what definitions say that stay as they are.
    """
    found = {one.name for one in constants_said(source.text)} & values.keys()
    texts = [source.text[part.start : part.end] for part in source.stretches]
    source = source.with_texts([with_constants(text, values) for text in texts])
    at = 0
    while True:
        for macro in in_force(source.text, known):
            start, name = macro.directive.start, macro.name
            if start < at or name not in values or said(macro.body) in kept.get(name, ()):
                continue
            found.add(name)
            if said(macro.body) != values[name]:
                source = _changed(source, start, values[name])
                at = start + 1  # what it is now may decide which definitions count further down
                break
        else:
            return source, frozenset(found)


def _changed(source: Source, start: int, value: str | None) -> Source:
    """A source with another value in the line that begins at a place, or that line as a comment."""
    line = define_line(source.text, start)
    if line is None:
        return source
    head = f"/* {line['head'].strip()} */{line['tail']}"
    changed = head if value is None else valued(line, value)
    texts = [source.text[part.start : part.end] for part in source.stretches]
    for number, part in enumerate(source.stretches):
        if part.start <= start < part.end:
            own = texts[number]
            texts[number] = own[: start - part.start] + changed + own[line.end() - part.start :]
    return source.with_texts(texts)
