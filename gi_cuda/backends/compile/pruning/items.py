"""The declarations of a variant's preprocessed text, with the facts that decide which needs which.

Names decide, as in :mod:`gi_cuda.backends.compile.pruning.prune`: code that uses a name needs every
declaration of that name. A declaration that no name leads to for sure is always needed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from gi_cuda.backends.compile.pruning.declarations import (
    ScopeDeclaration,
    Tokens,
    declarations,
    keys_of,
    read,
)

_LINE_MARKER = re.compile(r"\s*#\s*(?:line\b|\d)")
_VALUE = re.compile(r"""\.?[0-9]|['"]""")
_TYPE = frozenset({"class", "struct", "union", "enum"})
_HARMLESS = frozenset({"static_assert", "_Static_assert", ";"})
"""First words of declarations that declare nothing."""
_LASTING = ("static", "thread_local")
_NO_STATE = frozenset({"const", "constexpr", "__shared__"})
"""Words after ``static`` that show that a variable keeps no value of its own."""
_METHODS = frozenset(
    {"__device__", "__host__", "__forceinline__", "__inline__", "inline", "__attribute__"}
)
"""Words after ``static`` in a type that begin a function."""
_LOOKED_UP = frozenset(
    {
        "begin",
        "end",
        "get",
        "tuple_size",
        "tuple_element",
        "swap",
        "size",
        "data",
        "abs",
        "min",
        "max",
    }
)
"""Names that compilers look up without a use in the source, and names that templates of headers
call with operands of a type that they are given."""


class Kind(Enum):
    """The state that a declaration holds.

    Attributes:
        PLAIN: none: code, types, constants; any number of copies are equivalent to one.
        CONSTANT: a variable in constant memory.
        VARIABLE: state that may change.
    """

    PLAIN = auto()
    CONSTANT = auto()
    VARIABLE = auto()


@dataclass(frozen=True, slots=True)
class Item:
    """A declaration at namespace scope.

    Attributes:
        first, last: its first and last line, as indices into the lines that were read.
        text: these lines.
        keys: the names by which it is used.
        said: the names that it uses.
        kind: the state that it holds.
        everywhere: whether it may be needed by code that uses none of its names.
        operands: whether its names are those of the types of its operands.
        kernel: whether it is a kernel.
        function: whether it is a function or function template, no member or operator.
        scope: the named namespaces around it, ``a::b``.
    """

    first: int
    last: int
    text: str
    keys: frozenset[str]
    said: frozenset[str]
    kind: Kind
    everywhere: bool
    operands: bool
    kernel: bool
    function: bool = False
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A text's declarations, in order.

    Attributes:
        items: the declarations.
        gaps: lines with something else: where a namespace begins or ends, pragmas.
        complete: whether the last declaration has ended.
    """

    items: tuple[Item, ...]
    gaps: frozenset[int]
    complete: bool


def code_lines(text: str, ident: int) -> tuple[list[str], list[int]]:
    """Return the lines of a variant's preprocessed text that are code, and their line indices.

    The lines do not depend on the variant's number.
    """
    own = f'"v{ident}/'
    lines = text.replace(own, '"').split("\n")
    places = [
        at
        for at, line in enumerate(lines)
        if line and not line.isspace() and not ("#" in line and _LINE_MARKER.match(line))
    ]
    return [lines[at] for at in places], places


def read_items(lines: Sequence[str]) -> Items | None:
    """Return the declarations in lines of code; None if brackets do not match."""
    text = "\n".join(lines)
    tokens = read(text)
    if tokens is None:
        return None
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def line_at(place: int) -> int:
        return bisect_right(starts, place) - 1

    items: list[Item] = []
    outside: list[int] = []
    at, end, complete = 0, 0, True
    for declared in declarations(tokens):
        outside += range(at, declared.begin)
        begin = tokens.starts[declared.begin]
        alone = tokens.unknown_in(end, begin)
        at, end = declared.end, tokens.ends[declared.end - 1]
        first, last = line_at(begin), line_at(end - 1)
        kept = "\n".join(lines[first : last + 1])
        items.append(_item(tokens, declared, first, last, kept, alone))
        complete = bool(declared.words) and declared.ends
    outside += range(at, len(tokens.words))
    gaps = {line_at(tokens.starts[token]) for token in outside}
    covered = [(item.first, item.last) for item in items]
    directives = (line_at(place) for place, _ in tokens.directives)
    gaps.update(line for line in directives if not _within(covered, line))
    return Items(tuple(items), frozenset(gaps), complete)


def _within(ranges: Sequence[tuple[int, int]], line: int) -> bool:
    at = bisect_right(ranges, (line, line + 1)) - 1
    return at >= 0 and ranges[at][0] < line < ranges[at][1]


def _item(
    tokens: Tokens, declared: ScopeDeclaration, first: int, last: int, text: str, alone: bool
) -> Item:
    said = tokens.names(declared.begin, declared.end)
    keys = set() if alone else keys_of(tokens, declared)
    operands = "operator" in declared.words
    kernel = "__global__" in declared.words or "global" in declared.aside
    everywhere = alone or bool(keys & _LOOKED_UP and not kernel)
    if not keys and declared.words and declared.words[0] not in _HARMLESS:
        # Not understood; but code that uses it has to contain one of its names.
        keys = said - declared.aside
        everywhere |= operands or declared.words[0] in ("using", "namespace")
    return Item(
        first,
        last,
        text,
        frozenset(keys),
        frozenset(said),
        _kind(tokens, declared),
        everywhere,
        operands,
        kernel,
        is_plain_function(tokens, declared),
        declared.scope,
    )


def is_plain_function(tokens: Tokens, declared: ScopeDeclaration) -> bool:
    """Tell whether it is a function that is called by a name of its own."""
    words = declared.words
    before = words[: words.index("(")] if "(" in words else []
    if not before or {"=", "::", "operator", "typedef", "using"} & {*before}:
        return False
    return _is_function(tokens, declared)


def _kind(tokens: Tokens, declared: ScopeDeclaration) -> Kind:
    words = declared.words
    if _keeps_value(tokens, declared):
        return Kind.VARIABLE
    if not words or words[0] in _HARMLESS or words[0] in ("using", "namespace"):
        return Kind.PLAIN
    if not declared.strange and ("typedef" in words or "operator" in words):
        return Kind.PLAIN
    said = {*words, *declared.aside}
    if "(" in words and "=" not in words[: words.index("(")]:
        return Kind.PLAIN if _is_function(tokens, declared) else Kind.VARIABLE
    if {"__shared__", "shared"} & said or "constexpr" in words:
        return Kind.PLAIN
    if _TYPE & set(words) and not _declares_variable(words):
        return Kind.PLAIN
    if "const" in words and "*" not in words:
        return Kind.PLAIN
    return Kind.CONSTANT if {"__constant__", "constant"} & said else Kind.VARIABLE


def _keeps_value(tokens: Tokens, declared: ScopeDeclaration) -> bool:
    """Tell whether a function or type contains a variable that outlives a call."""
    words = tokens.words[declared.begin : declared.end]
    if "static" not in words and "thread_local" not in words:
        return False
    outside = {at - declared.begin for at in declared.head}
    inside = [at for at, word in enumerate(words) if word in _LASTING and at not in outside]
    methods = _METHODS if _TYPE & set(declared.words) else frozenset[str]()
    return any(
        words[at + 1] not in _NO_STATE | methods and "shared" not in words[at + 1 : at + 5]
        for at in inside
    )


def _is_function(tokens: Tokens, declared: ScopeDeclaration) -> bool:
    """Tell whether a declaration with parentheses is a function, no pointer or variable."""
    if declared.strange or not keys_of(tokens, declared):
        return False
    opening = declared.head[declared.words.index("(")]
    inside = tokens.words[opening + 1 : tokens.closes[opening]]
    return declared.words[-1] == "{" or "=" in inside or not any(_VALUE.match(w) for w in inside)


def _declares_variable(words: Sequence[str]) -> bool:
    """Tell whether a type declaration has a variable: ``struct Pair { ... } first;``."""
    key = next(at for at, word in enumerate(words) if word in _TYPE)
    head = [word for word in _until(words[key + 1 :], ("{", ":", ";")) if word.isidentifier()]
    behind = words[words.index("{") + 1 :] if "{" in words else []
    return len(head) > 1 + (words[key + 1 : key + 2] == ["class"]) or behind not in ([], [";"])


def _until(words: Sequence[str], ends: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in ends:
            return
        yield word
