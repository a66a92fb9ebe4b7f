"""Read a shard's PTX: which part belongs to which variant, and which parts are the same.

Many edits have no effect: the compiler makes the same PTX of two variants, except for their names
and for numbers that it counts through the whole module. One of them need not be assembled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import xxhash

from gi_cuda.backends.cuda.compile.cubin import name_parts, owner

_BEGIN = re.compile(
    r"^(?:\.(?:visible|weak|extern|common)\s+)?"
    r"(?:(?P<function>\.(?:entry|func))|\.(?:global|const|shared))\b",
    re.M,
)
"""Begin of a function or variable at module level."""
_NAME = re.compile(r"\b_ZZ?(N\w+)")
_COMMENT = re.compile(r"//[^\n]*")
_HEAD = re.compile(r"\s*(?:\.(?:version|target|address_size)\b[^\n]*\s*)*\Z")
_LABEL, _STACK = "$L__BB", "__local_depot"
_FUNCTION_NUMBER = re.compile(r"(?:\$L__BB|__local_depot)(\d+)")
_UNCERTAIN = ("_GLOBAL__N_", "$str", "__unnamed_")
"""Parts of names that the compiler counts through the module."""
_INTERNAL = "_INTERNAL_"
"""Part of names with internal linkage, which contain the module's name."""


@dataclass(frozen=True, slots=True)
class ShardPtx:
    """A shard's PTX in parts.

    Attributes:
        head: directives that all parts need.
        parts: the text of each variant.
        keys: for each variant, a hash that is equal for equal text, apart from names and numbers.
    """

    head: str
    parts: Mapping[int, str]
    keys: Mapping[int, bytes]

    def without(self, idents: Collection[int]) -> str:
        """Return the text without some of the variants."""
        return self.head + "".join(self.parts[i] for i in self.parts if i not in idents)

    def of(self, ident: int) -> ShardPtx:
        """Return one variant alone."""
        return ShardPtx(self.head, {ident: self.parts[ident]}, {ident: self.keys[ident]})


def join_parts(modules: Sequence[ShardPtx]) -> ShardPtx:
    """Join modules into one; all have the same head."""
    parts = {ident: text for one in modules for ident, text in one.parts.items()}
    keys = {ident: key for one in modules for ident, key in one.keys.items()}
    return ShardPtx(modules[0].head, parts, keys)


def read_module(text: str) -> ShardPtx | None:
    """Divide a shard's PTX into parts; None if something belongs to no variant for sure."""
    if any(word in text for word in _UNCERTAIN):
        return None
    parts: dict[int, list[str]] = {}
    rest, at = [], 0
    for begin, end in blocks(text):
        rest.append(text[at : begin.start()])
        at = end
        name = _NAME.search(text, begin.start(), at)
        ident = owner(name_parts(f"_Z{name[1]}")) if name else None
        if ident is None:
            return None
        parts.setdefault(ident, []).append(text[begin.start() : at])
    head = _COMMENT.sub("", "".join([*rest, text[at:]]))
    if not _HEAD.match(head):
        return None
    texts = {ident: "".join(f"{one}\n" for one in pieces) for ident, pieces in parts.items()}
    keys = {ident: _key(ident, pieces) for ident, pieces in parts.items()}
    return ShardPtx(head.strip() + "\n", texts, keys)


def named_by(ident: int) -> re.Pattern[str]:
    """Return a pattern for names in a variant's namespace."""
    own = f"v{ident}"
    return re.compile(rf"N(?:\d+(?:_INTERNAL_|_GLOBAL__N_)\w*?)?{len(own)}{own}[\dA-Z]")


def pieces(text: str) -> frozenset[str]:
    """Return a module's functions and variables, without the numbers that functions have in it."""
    return frozenset(unnumbered(text[begin.start() : end]) for begin, end in blocks(text))


def blocks(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the functions and variables of a module: a match of the begin, and the end's position.

    The match of a function has the group ``function``.
    """
    at = 0
    while begin := _BEGIN.search(text, at):
        at = _end_of(text, begin)
        yield begin, at


def _end_of(text: str, begin: re.Match[str]) -> int:
    """Bodies end with a brace in the first column; one within is of inline assembly."""
    semicolon = text.find(";", begin.end())
    if begin["function"]:
        brace = text.find("{", begin.end())
        if brace >= 0 and not 0 <= semicolon < brace:
            last = text.find("\n}", brace)
            while last >= 0 and text.count("{", brace, last) > text.count("}", brace, last) + 1:
                last = text.find("\n}", last + 1)
            return last + 2 if last >= 0 else len(text)
    return semicolon + 1 if semicolon >= 0 else len(text)


def _key(ident: int, pieces: list[str]) -> bytes:
    name = f"N{len(str(ident)) + 1}v{ident}"
    internal = re.compile(rf"N\d+{_INTERNAL}\w+?{name[1:]}(?=\d)")
    same = []
    for piece in pieces:
        piece = piece.replace(f"_Z{name}", "_ZNv").replace(f"_ZZ{name}", "_ZZNv")
        if _INTERNAL in piece and (found := internal.search(piece)):
            piece = piece.replace(found[0], "N_v")
        same.append(unnumbered(piece))
    return xxhash.xxh3_128_digest("\0".join(sorted(same)).encode())


def reached(kernel: str, named: Mapping[str, Collection[str]]) -> set[str]:
    """Return a kernel and all that it needs, directly or not.

    Args:
        named: symbols that each symbol's text names.
    """
    found: set[str] = set()
    waiting = [kernel]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += named[name]
    return found


def unnumbered(piece: str) -> str:
    """A function's text without the number that it has in its module."""
    if number := _FUNCTION_NUMBER.search(piece):
        piece = piece.replace(f"{_LABEL}{number[1]}_", _LABEL)
        piece = piece.replace(f"{_STACK}{number[1]}", _STACK)
    return piece
