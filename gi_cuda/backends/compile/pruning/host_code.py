"""Remove host-only functions from a preprocessed text.

Host code uses libraries that are not installed, and launches kernels, which only nvcc can parse. No
kernel can call it. So each function that can only run on the host is reduced to a declaration. Code
that mentions its name, in a table or as a default argument, still compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gi_cuda.backends.compile.pruning.declarations import (
    TYPE_KEYS,
    ScopeDeclaration,
    Tokens,
    declarations,
    members,
    read,
)

_RUNS_ON_DEVICE = frozenset(
    {"__device__", "__global__", "device", "global", "constexpr", "consteval"}
)
_MARKER = re.compile(r"[ \t]*#[ \t]*(?:line\b|\d)")


def without_host_code(text: str) -> str:
    """Replace host functions by declarations. Lines and line markers stay.

    Args:
        text: preprocessed text. It is returned unchanged if brackets do not match.
    """
    tokens = read(text)
    if tokens is None:
        return text
    parts, at = [], 0
    for begin, end, instead in sorted(_changes(tokens)):
        parts += [text[at:begin], instead, _lines_of(text[begin:end])]
        at = end
    return "".join([*parts, text[at:]])


def _lines_of(text: str) -> str:
    """Return the line ends and line markers of a text that is removed."""
    _, *others = text.split("\n")
    return "\n".join(["", *(line if _MARKER.match(line) else "" for line in others)])


def _changes(tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Yield ranges of the text to remove, and their replacements."""
    for item in declarations(tokens):
        if _is_type(item):
            yield from _members(tokens, item)
        elif (body := host_body(tokens, item)) is not None:
            end = tokens.ends[item.end - 1]
            name = item.words[: item.words.index("(")]
            if "::" in name or len(name) == 1:
                # Only a definition may have a qualified name. A function without a type comes from
                # the macro of a library that is missing.
                yield tokens.starts[item.begin], end, ""
            else:
                yield tokens.starts[body], end, ";"


def _is_type(item: ScopeDeclaration) -> bool:
    """Tell whether it is a type with its members."""
    words = item.words
    if "{" not in words or not TYPE_KEYS & set(words) or "enum" in words:
        return False
    before = words[: words.index("{")]
    return not {"(", "="} & set(before)


def _members(tokens: Tokens, item: ScopeDeclaration) -> Iterator[tuple[int, int, str]]:
    opening = item.head[item.words.index("{")]
    found: list[tuple[ScopeDeclaration, int]] = []
    for member in members(tokens, opening):
        if _is_type(member):
            yield from _members(tokens, member)
        elif (body := host_body(tokens, member)) is not None:
            found.append((member, body))
    if not found:
        return
    # Members that use no names from outside of the type do no harm: kernels get types by value.
    own, at = set[str](), item.begin
    for member, body in found:
        own |= tokens.names(at, body)
        at = member.end
    own |= tokens.names(at, item.end)
    for member, body in found:
        if not tokens.names(body, member.end) <= own:
            yield tokens.starts[body], tokens.ends[member.end - 1], ";"


def host_body(tokens: Tokens, item: ScopeDeclaration) -> int | None:
    """Return the index of the token at which a host function's body or its initialisers begin.

    None if it is no host function, or has no body, or has a return type that only the body
    determines.
    """
    words = item.words
    if item.strange or "(" not in words or words[-1] != "{":
        return None
    opening = words.index("(", words.index("operator") + 1 if "operator" in words else 0)
    before = words[:opening]
    if {"=", "{"} & set(before) or _RUNS_ON_DEVICE & {*before, *item.aside}:
        return None
    behind = words[opening + 1 :]
    if "auto" in before and "->" not in behind and "operator" not in before:
        return None
    last = opening + 1 + behind.index(":") if ":" in behind else len(words) - 1
    return item.head[last]
