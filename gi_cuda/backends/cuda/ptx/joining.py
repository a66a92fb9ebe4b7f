"""Join PTX variants into one module, and attribute ptxas's messages about it to variants."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gi_cuda.backends.cuda.ptx.module import blocks, named_by
from gi_cuda.backends.protocol.variants import Phenotype

_HEAD = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b[^\n]*", re.M)
_OURS = re.compile(r"2v0(?=[\dA-Z])")
_INNER = re.compile(r"N\d+(?:_INTERNAL_|_GLOBAL__N_)\w*\Z")
_MESSAGE = re.compile(
    r"^ptxas [^\n]*?, line (?P<line>\d+); (?:fatal|error)\s*:\s*(?P<said>[^\n]*)", re.M
)


class _Piece(NamedTuple):
    """A section of a variant's text: its owner, its first line in the module and in the text."""

    ident: int
    line: int
    own_line: int


@dataclass(frozen=True, slots=True)
class JoinedPtx:
    """Several variants as one PTX text.

    Attributes:
        text: the module.
        pieces: the sections of the module in order.
    """

    text: str
    pieces: tuple[_Piece, ...]

    def messages(self, stderr: str, file_name: str) -> Iterator[str]:
        """Yield ptxas's messages as messages about variants' texts."""
        lines = [piece.line for piece in self.pieces]
        for line, message in messages(stderr):
            at = bisect_right(lines, line) - 1
            if at >= 0:
                piece = self.pieces[at]
                here = line - piece.line + piece.own_line
                yield f"v{piece.ident}/{file_name}({here}): error: {message}\n"


def join(shard: Sequence[Phenotype]) -> JoinedPtx:
    """Put variants into one module, each into a namespace of its own."""
    parts = {p.ident: list(_parts(_renamed(p.text, f"v{p.ident}"), p.ident)) for p in shard}
    texts = ["".join(f"{line}\n" for line in _HEAD.findall(shard[0].text))]
    # Of two modules of one source, one may use more of a header than the other.
    shared = [text for some in parts.values() for text, ours, _ in some if not ours]
    texts += [f"{text}\n" for text in dict.fromkeys(shared)]
    line = 1 + sum(text.count("\n") for text in texts)
    pieces = []
    for phenotype in shard:
        for text, ours, at in parts[phenotype.ident]:
            if ours:
                pieces.append(_Piece(phenotype.ident, line, at))
                texts.append(f"{text}\n")
                line += text.count("\n") + 1
    return JoinedPtx("".join(texts), tuple(pieces))


def _parts(text: str, ident: int) -> Iterator[tuple[str, bool, int]]:
    """Yield a module's functions and variables: text, whether the variant's, first line."""
    named = named_by(ident)
    at = line = 0
    for begin, end in blocks(text):
        line += text.count("\n", at, begin.start())
        part = text[begin.start() : end]
        yield part, named.search(part) is not None, line + 1
        line += text.count("\n", begin.start(), end)
        at = end


def messages(stderr: str) -> Iterator[tuple[int, str]]:
    """Yield ptxas's errors with the line numbers that they refer to."""
    for found in _MESSAGE.finditer(stderr):
        yield int(found["line"]), found["said"]


def in_namespace(name: str) -> bool:
    """Tell whether a mangled name is one of the namespace of the variant with the number 0."""
    return any(_ours(name))


def _renamed(text: str, own: str) -> str:
    """Return a text with its names moved into the namespace ``own``."""
    parts, at = [], 0
    for place in _ours(text):
        parts.append(text[at:place])
        at = place + len("2v0")
    parts.append(text[at:])
    return f"{len(own)}{own}".join(parts)


def _ours(text: str) -> Iterator[int]:
    """Yield the positions at which mangled names in a text contain the namespace ``v0``."""
    for found in _OURS.finditer(text):
        start = found.start()
        if text[start - 1 : start] == "N" or _INNER.search(text, max(0, start - 300), start):
            yield start
