"""The ``.bnf`` notation: write it from a grammar, read it, and match it with the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gi_cuda.errors import UserError
from gi_cuda.grammar.interface import Rules
from gi_cuda.grammar.notation.lines import (
    Item,
    Production,
    ProductionName,
    Text,
    productions,
    start_symbol,
)
from gi_cuda.grammar.source import LineIndex, Source

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}
_UNESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}
_TO_ESCAPE = re.compile(r"[\x00-\x1f\x7f\"\\\x85\u2028\u2029\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")

_HEADER = """\
# Grammar of {name}: one production a line of the source, and one for each rule that may change.
# A rule written out as text is not changed any more; a rule put in is.
"""


def write_bnf(grammar: Rules) -> str:
    """Return the grammar's productions as text, special donors last."""
    lines = [_HEADER.format(name=grammar.source.name)]
    for production in productions(grammar.source, grammar.rules):
        lines.append(_write(production))
    if grammar.specials:
        lines.append("\n# Donors that stand for no place in the source.\n")
    for name, text in grammar.specials.items():
        lines.append(_write(Production(name, (Text(text),))))
    return "".join(lines)


def _write(production: Production) -> str:
    words = [
        f"<{item.name}>" if isinstance(item, ProductionName) else quote(item.text)
        for item in production.items
    ] or ['""']
    lines = [f"<{production.name}> ::="]
    for word in words:
        if len(production.items) > 20 and len(lines[-1]) + len(word) > 98:
            lines.append("   ")
        lines[-1] += " " + word
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """Return a text as a quoted string of the notation."""
    escaped = _TO_ESCAPE.sub(lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text)
    return f'"{escaped}"'


def unquote(string: str) -> str:
    """Return the text of a quoted string of the notation."""

    def one(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _UNESCAPES.get(match[2], match[2])

    return _ESCAPED.sub(one, string[1:-1])


@cache
def _parser() -> Lark:
    grammar = files("gi_cuda.grammar.notation").joinpath("bnf.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True)


def read_bnf(text: str, name: str) -> dict[str, Production]:
    """Read productions, keyed by symbol.

    Args:
        text: text of the file.
        name: name of the file in error messages.

    Raises:
        UserError: the text is not in the notation, or defines a symbol twice. The message has the
            file and line.
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise UserError(
            "this is not a production",
            where=f"{name}:{max(error.line, 1)}",
            hint='a production looks like: <symbol> ::= "text" <symbol>',
        ) from error
    found: dict[str, Production] = {}
    for production in tree.children:
        assert isinstance(production, Tree)
        symbol, *items = production.children
        assert isinstance(symbol, Token)
        line = symbol.line or 0
        key = symbol[1:-1]
        if key in found:
            raise UserError(
                f"<{key}> is defined a second time (first on line {found[key].line})",
                where=f"{name}:{line}",
                hint="leave one of the two out",
            )
        found[key] = Production(key, tuple(_item(str(item)) for item in items), line)
    return found


def _item(word: str) -> Item:
    return ProductionName(word[1:-1]) if word.startswith("<") else Text(unquote(word))


def lay_out(
    found: Mapping[str, Production], source: Source, name: str
) -> Iterator[tuple[str, int, int]]:
    """Match productions with the source, and return each symbol with the span that it covers.

    Raises:
        UserError: the productions do not produce exactly the source; or a symbol is undefined or
            contains itself.
    """
    start = start_symbol(source)
    if start not in found:
        raise UserError(
            f"there is no start symbol <{start}>", where=name, hint="write the grammar anew"
        )
    at = 0
    spans: list[tuple[str, int, int]] = []
    stack: list[tuple[Production, int, int]] = [(found[start], 0, 0)]
    above = {start}
    while stack:
        production, k, first = stack.pop()
        if k == len(production.items):
            above.discard(production.name)
            spans.append((production.name, first, at))
            continue
        stack.append((production, k + 1, first))
        item = production.items[k]
        if isinstance(item, Text):
            if not source.text.startswith(item.text, at):
                raise _differs(source, at, item.text, production, name)
            at += len(item.text)
            continue
        if item.name not in found or item.name in above:
            what = "stands within itself" if item.name in above else "is not defined"
            raise UserError(
                f"<{item.name}> {what}",
                where=f"{name}:{production.line}",
                hint="give it a production of its own, or write its text instead",
            )
        above.add(item.name)
        stack.append((found[item.name], 0, at))
    if at < len(source.text):
        raise _differs(source, at, "", found[start], name)
    return iter(spans)


def _differs(source: Source, at: int, text: str, production: Production, name: str) -> UserError:
    shared = 0
    for mine, theirs in zip(text, source.text[at:], strict=False):
        if mine != theirs:
            break
        shared += 1
    file, line = LineIndex(source).at(at + shared)
    has = source.text[at + shared : at + shared + 40]
    says = text[shared : shared + 40]
    return UserError(
        f"the grammar does not match line {line} of {file}: the grammar has "
        f"{quote(says)} where the source has {quote(has)}",
        where=f"{name}:{production.line}",
        hint="write out exactly the source's text, or convert the source anew",
    )


def unreached(found: Mapping[str, Production], reached: Sequence[str]) -> Iterator[Production]:
    """Return the productions that the source does not use."""
    seen = set(reached)
    return (production for key, production in found.items() if key not in seen)
