"""Find and replace the values that a source gives to macros and constants."""

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
    """Return a macro's body without comments, with white space collapsed to single blanks."""
    return " ".join(_COMMENT.sub(" ", _CONTINUED.sub(" ", body)).split())


def in_force(text: str, known: Mapping[str, str]) -> Iterator[Macro]:
    """Yield the definitions of object-like macros that are compiled, in source order.

    Args:
        text: the source.
        known: macros that are defined before the source.
    """
    presence = read_presence(text)
    active = presence.active(known)
    for macro in presence.macros():
        if macro.parameters is None and active[macro.directive.region]:
            yield macro


class Constant(NamedTuple):
    """A constant or integer variable that a text initialises with a number.

    Attributes:
        value: the number as it is written.
        start: offset of the name.
        const: True if the declaration says ``const`` or ``constexpr``.
    """

    name: str
    value: str
    start: int
    const: bool


def constants_said(text: str) -> Iterator[Constant]:
    """Yield the constants that a text initialises with numbers; declarations in comments count.

    Integer variables are included if no constant has the same name.
    """
    every = [*_CONSTANT.finditer(text)]
    fixed = {one["name"] for one in every if one["const"]}
    for one in every:
        if one["const"] or one["name"] not in fixed:
            yield Constant(one["name"], one["value"], one.start("name"), bool(one["const"]))


def with_constants(text: str, values: Mapping[str, str | None], whole: str | None = None) -> str:
    """Return a text whose constants have other numbers; see :func:`constants_said`.

    Args:
        text: the text.
        values: the new number of each constant, by name; None keeps a constant as it is. Names
            that the text does not initialise with a number are ignored.
        whole: the source that contains the text; None: the text itself.
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
    """Match the ``#define`` line that begins at an offset; None if it is not of the plain form."""
    return _LINE.match(text, start)


def valued(line: re.Match[str], value: str) -> str:
    """Return a ``#define`` line with another value."""
    return f"{line['head']}{line['gap'] or ' '}{value}{line['tail']}"


def with_values(
    source: Source,
    values: Mapping[str, str | None],
    known: Mapping[str, str],
    kept: Mapping[str, Collection[str]],
) -> tuple[Source, frozenset[str]]:
    """Return a source whose macros and constants have other values, and the names that it defines.

    Only definitions of macros that are compiled change.

    Args:
        source: the source.
        values: the new value of each macro or constant, by name; None removes the macro.
        known: macros that are defined before the source.
        kept: by macro, the bodies of definitions that stay as they are.

    Returns:
        The changed source, and the names in ``values`` for which it has a definition.
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
                at = start + 1  # the new value may decide which later definitions are compiled
                break
        else:
            return source, frozenset(found)


def _changed(source: Source, start: int, value: str | None) -> Source:
    """Return a source with another value in one ``#define`` line.

    Args:
        start: offset of the line.
        value: the new value; None turns the line into a comment.
    """
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
