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
    """Join variants into one module."""
    parts = {p.ident: list(_parts(p.text, p.ident)) for p in shard}
    texts = ["".join(f"{line}\n" for line in _HEAD.findall(shard[0].text))]
    # Two variants of a source may use different parts of a header.
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
