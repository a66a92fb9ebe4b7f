"""Functions that variants of a shard have in common, compiled once.

Most variants differ in one function only. Where the others stay out of line, the compiler may merge
those of one variant with the same ones of another (``-fipa-icf-functions``) and optimise them once.
Yet a function that one place calls is inlined there, and merged it would be called from many: a
variant's code would depend on the company it has. So only functions that a variant itself calls
from several places are left to be merged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from gi_cuda.backends.host.prepare import Change, changed, closing

MARK: Final = "GI_COMMON"
"""What stands for ``__device__`` before a function that may be merged with others."""

NOT_INLINED: Final = "GI_NOT_INLINED"
"""What stands before ``__device__`` of a function that kernels call which are left out, and that is
not inlined where they are there."""

_DEVICE: Final = "__device__"
_NAMED: Final = re.compile(r"__device__\b[\w\s*&:]*?\b([A-Za-z]\w*)\s*(\()")
_PLAIN: Final = re.compile(r"(?:#.*\n|[\w\s])*")  # with line markers
_TAIL: Final = re.compile(r"(?:\s|const\b|noexcept\b)*([{;])")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


class _Declared(NamedTuple):
    """A function that is declared, and perhaps defined: neither a template nor a lambda.

    Attributes:
        at: where its ``__device__`` is.
        body: what is between its braces, and these; nothing for a mere declaration.
        apart: whether it is :data:`NOT_INLINED`.
    """

    name: str
    at: int
    body: str
    apart: bool


def mark_common(text: str) -> str:
    """A variant's preprocessed text with :data:`MARK` for ``__device__`` where merging is allowed.

    These are plain functions of which there is one by the name, called from more than one place in
    what the variant's kernels may reach. Anything that is hard to tell stays as it is.
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
    """The text without some of its parts, given as they come in it."""
    pieces = []
    for part in parts:
        piece, _, text = text.partition(part)
        pieces.append(piece)
    return " ".join([*pieces, text])


@lru_cache(maxsize=512)
def _words(text: str) -> Mapping[str, int]:
    """How often each word is said; most functions are those of the variant before."""
    return Counter(_WORD.findall(text))
