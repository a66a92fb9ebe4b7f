"""A preprocessed text without what runs on the host alone.

Host code says names of libraries that are not there, and launches kernels, which only nvcc can
read. No kernel can call it. So a function that can run on the host only is left as a declaration:
who says its name, in a table or as a default argument, still finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gi_cuda.backends.compile.declarations import (
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
    """The text with declarations in place of host functions; lines and line markers stay.

    Args:
        text: preprocessed. Where brackets do not match, it is left as it is.
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
    """What remains of a text that goes: its line ends and line markers."""
    _, *others = text.split("\n")
    return "\n".join(["", *(line if _MARKER.match(line) else "" for line in others)])


def _changes(tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Parts of the text that go, and what comes in their place."""
    for item in declarations(tokens):
        if _is_type(item):
            yield from _members(tokens, item)
        elif (body := host_body(tokens, item)) is not None:
            end = tokens.ends[item.end - 1]
            name = item.words[: item.words.index("(")]
            if "::" in name or len(name) == 1:
                # Only a definition may have such a name; one without a type is a macro's, of a
                # library that is not there.
                yield tokens.starts[item.begin], end, ""
            else:
                yield tokens.starts[body], end, ";"


def _is_type(item: ScopeDeclaration) -> bool:
    """Whether it is a type with its members."""
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
    # What says nothing from outside of the type does no harm, and kernels get types by value.
    own, at = set[str](), item.begin
    for member, body in found:
        own |= tokens.names(at, body)
        at = member.end
    own |= tokens.names(at, item.end)
    for member, body in found:
        if not tokens.names(body, member.end) <= own:
            yield tokens.starts[body], tokens.ends[member.end - 1], ";"


def host_body(tokens: Tokens, item: ScopeDeclaration) -> int | None:
    """The token at which a host function's body or its initialisers begin; None for what is no
    such function, has no body, or whose type only its body says."""
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
