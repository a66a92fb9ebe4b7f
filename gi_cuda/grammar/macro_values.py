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
    r"\b(?:(?P<const>const|constexpr)\b[\w\s:]*?|(?:int|unsigned|long|size_t|uint|u?int\d+_t)\s+)"
    r"\b(?P<name>\w+)\s*[={]\s*(?P<value>\d\w*)(?=\s*[;,}])"
)
"""A constant or integer variable that is declared to be a number."""
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
    """A constant that a text declares to be a number, or an integer variable that begins as one.

    Attributes:
        value: the number as it is written.
        start: offset of the name.
        const: whether its declaration says ``const`` or ``constexpr``.
    """

    name: str
    value: str
    start: int
    const: bool


def constants_said(text: str) -> Iterator[Constant]:
    """Yield the constants that a text declares to be numbers, in comments too; of a name that no
    constant has, the integer variables."""
    every = [*_CONSTANT.finditer(text)]
    fixed = {one["name"] for one in every if one["const"]}
    for one in every:
        if one["const"] or one["name"] not in fixed:
            yield Constant(one["name"], one["value"], one.start("name"), bool(one["const"]))


def with_constants(text: str, values: Mapping[str, str | None], whole: str | None = None) -> str:
    """A text whose constants have other numbers; see :func:`constants_said`.

    Args:
        values: by name; what the text does not declare to be a number is left alone.
        whole: the source that the text is a part of.
    """
    said = constants_said(text if whole is None else whole) if values else ()
    fixed = {one.name for one in said if one.const}

    def changed(match: re.Match[str]) -> str:
        value = values.get(match["name"])
        if value is None or (not match["const"] and match["name"] in fixed):
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
    changed = [with_constants(text, values, source.text) for text in texts]
    source = source.with_texts(changed)
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
