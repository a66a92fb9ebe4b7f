"""Mark functions that variants of a shard share, so that they are compiled once.

Most variants differ in one function only. If the others are not inlined, the compiler can merge a
function of one variant with the same function of another (``-fipa-icf-functions``), and optimize it
once. But a function with a single call is inlined there, and after merging it would have several
calls: a variant's code would depend on the other variants in its shard. So only functions that a
variant itself calls from several places may be merged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from gi_cuda.backends.host.build.prepare import Change, changed, closing

MARK: Final = "GI_COMMON"
"""Word that replaces ``__device__`` before a function that may be merged with others."""

NOT_INLINED: Final = "GI_NOT_INLINED"
"""Word before ``__device__`` of a function that left-out kernels call too, and that is not inlined
if they are present."""

_DEVICE: Final = "__device__"
_NAMED: Final = re.compile(r"__device__\b[\w\s*&:]*?\b([A-Za-z]\w*)\s*(\()")
_PLAIN: Final = re.compile(r"(?:#.*\n|[\w\s])*")  # with line markers
_TAIL: Final = re.compile(r"(?:\s|const\b|noexcept\b)*([{;])")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


class _Declared(NamedTuple):
    """A declaration, or definition, of a function that is neither a template nor a lambda.

    Attributes:
        name: the function's name.
        at: position of its ``__device__``.
        body: its body with braces; "" for a mere declaration.
        apart: whether it has the word :data:`NOT_INLINED`.
    """

    name: str
    at: int
    body: str
    apart: bool


def mark_common(text: str) -> str:
    """Replace ``__device__`` by :data:`MARK` in a preprocessed text where merging is allowed.

    These are plain functions with a unique name that are called from more than one place in the
    code that the variant's kernels may reach. In doubt, a function is not marked.
    """
    declared = list(_declarations(text))
    defined = Counter(one.name for one in declared if one.body)
    bodies = {one.name: one.body for one in declared if one.body and defined[one.name] == 1}
    mentions = Counter(_words(_without(text, bodies.values())))
    mentions.subtract(one.name for one in declared)
    mentions.update(one.name for one in declared if one.apart and one.body)
    reached = [name for name in bodies if mentions[name]]
    for name in reached:  # grows on the way
        for said, number in _words(bodies[name]).items():
            mentions[said] += number
            if said in bodies and said not in reached:
                reached.append(said)
    common = {one.at for one in declared if one.name in reached and mentions[one.name] > 1}

    def marked(_: str, at: int) -> Change | None:
        return (at, at + len(_DEVICE), MARK) if at in common else None

    return changed(text, _DEVICE, marked)


def _declarations(text: str) -> Iterator[_Declared]:
    at = text.find(_DEVICE)
    while at >= 0:
        named = _NAMED.match(text, at)
        before = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
        if named and _PLAIN.fullmatch(text, before, at):
            tail = _TAIL.match(text, closing(text, named.start(2)))
            if tail:
                begin = tail.start(1)
                body = text[begin : closing(text, begin)] if tail[1] == "{" else ""
                yield _Declared(named[1], at, body, NOT_INLINED in text[before:at])
        at = text.find(_DEVICE, at + len(_DEVICE))


def _without(text: str, parts: Iterable[str]) -> str:
    """Return the text without some of its parts, which are given in order."""
    pieces = []
    for part in parts:
        piece, _, text = text.partition(part)
        pieces.append(piece)
    return " ".join([*pieces, text])


@lru_cache(maxsize=512)
def _words(text: str) -> Mapping[str, int]:
    """Count the words of a text; cached, since most functions are those of the variant before."""
    return Counter(_WORD.findall(text))
