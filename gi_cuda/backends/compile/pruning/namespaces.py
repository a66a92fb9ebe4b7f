"""Namespaces that a source shares with its headers.

In a batch, every variant is in a namespace of its own and the headers are outside of it. A
``namespace image { ... }`` of the source then differs from that of its headers, but must still see
the headers' names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""//(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z)
      | R"(?P<fence>[^()\\\s"]{0,16})\(.*?\)(?P=fence)"
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n]){1,6}'
      | ^[ \t]*\#(?:\\\r?\n|[^\n])*
      | \bnamespace\s+(?P<name>[A-Za-z_]\w*(?:\s*::\s*(?:inline\s+)?\w+)*)\s*(?P<open>\{)
      | (?P<brace>[{}])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SEPARATOR = re.compile(r"\s*::\s*(?:inline\s+)?")


def namespaces(source: str) -> tuple[str, ...]:
    """Return full names of the named namespaces that a source opens, outer ones before inner ones.

    >>> namespaces("namespace a { namespace b { int x; } } namespace c::d { }")
    ('a', 'a::b', 'c', 'c::d')
    """
    found: dict[str, None] = {}
    stack: list[str] = []
    for match in _TOKEN.finditer(source):
        if match["open"]:
            inside = stack[-1] if stack else ""
            for part in _SEPARATOR.split(match["name"]):
                inside = f"{inside}::{part}" if inside else part
                found[inside] = None
            stack.append(inside)
        elif match["brace"] == "{":
            stack.append(stack[-1] if stack else "")
        elif match["brace"] == "}" and stack:
            stack.pop()
    return tuple(found)


def declared(names: Iterable[str]) -> str:
    """Return declarations that create namespaces."""
    return "".join(f"{_opened(name)}{'}' * len(name.split('::'))}\n" for name in names)


def joined(names: Iterable[str]) -> str:
    """Return using-directives for the begin of a variant, so that it sees headers' names."""
    return " ".join(
        f"{_opened(name)} using namespace ::{name}; {'}' * len(name.split('::'))}" for name in names
    )


def _opened(name: str) -> str:
    return " ".join(f"namespace {part} {{" for part in name.split("::"))
