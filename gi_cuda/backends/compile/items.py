"""The declarations of a variant's preprocessed text, as far as it takes to tell who needs which.

As in :mod:`gi_cuda.backends.compile.prune`, names decide: whoever says a name needs every
declaration of that name. What a name does not lead to for sure is needed everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from gi_cuda.backends.compile.declarations import (
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
"""How declarations begin that declare nothing."""
_LASTING = ("static", "thread_local")
_NO_STATE = frozenset({"const", "constexpr", "__shared__"})
"""What follows ``static`` where it is no variable that keeps a value of its own."""
_METHODS = frozenset(
    {"__device__", "__host__", "__forceinline__", "__inline__", "inline", "__attribute__"}
)
"""What follows ``static`` in a type where it is a function."""
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
"""What compilers look up where nobody says its name, and what templates of headers call with
operands of a type that they are given."""


class Kind(Enum):
    """What a declaration holds.

    Attributes:
        PLAIN: code, types, constants: any number of copies are as good as one.
        CONSTANT: a variable in constant memory.
        VARIABLE: what may be one thing now and another thing later.
    """

    PLAIN = auto()
    CONSTANT = auto()
    VARIABLE = auto()


@dataclass(frozen=True, slots=True)
class Item:
    """A declaration at namespace scope.

    Attributes:
        first, last: its lines, among those that were read.
        text: these.
        keys: the names that lead to it.
        said: the names that it says.
        everywhere: whether it may be needed by who says none of its names.
        operands: whether its names are those of the types of its operands.
        kernel: whether it is a kernel.
        function: whether it is a function of its own, perhaps a template.
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
        gaps: lines on which there is something besides them: where a namespace begins or ends,
            pragmas.
        complete: whether the last one has ended.
    """

    items: tuple[Item, ...]
    gaps: frozenset[int]
    complete: bool


def code_lines(text: str, ident: int) -> tuple[list[str], list[int]]:
    """The lines of a variant's preprocessed text that are code, and which of its lines they are.

    They are the same for every number that a variant may have.
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
    """The declarations in some lines of code; None where brackets do not match."""
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
        # Not understood; but nobody can mean it without one of its names.
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
    """Whether it is a function that is called by a name of its own."""
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
    """Whether there is a variable within a function or type that outlives its calls."""
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
    """Whether what has parentheses is a function, and neither a pointer to one nor a variable that
    they initialise."""
    if declared.strange or not keys_of(tokens, declared):
        return False
    opening = declared.head[declared.words.index("(")]
    inside = tokens.words[opening + 1 : tokens.closes[opening]]
    return declared.words[-1] == "{" or "=" in inside or not any(_VALUE.match(w) for w in inside)


def _declares_variable(words: Sequence[str]) -> bool:
    """Whether what begins like a type, ``struct Pair { ... } first;``, is a variable too."""
    key = next(at for at, word in enumerate(words) if word in _TYPE)
    head = [word for word in _until(words[key + 1 :], ("{", ":", ";")) if word.isidentifier()]
    behind = words[words.index("{") + 1 :] if "{" in words else []
    return len(head) > 1 + (words[key + 1 : key + 2] == ["class"]) or behind not in ([], [";"])


def _until(words: Sequence[str], ends: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in ends:
            return
        yield word
