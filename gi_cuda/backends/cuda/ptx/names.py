"""Translate names in PTX between a variant in a batch and the source compiled on its own.

In a batch each variant is in a namespace. Mangled names cannot be shortened by rules, since parts
may refer to earlier parts. So the source is compiled both ways; the functions are then identical
except for these names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gi_cuda.backends.cuda.compile.cubin import name_parts, owner
from gi_cuda.backends.cuda.ptx.module import blocks

_WORD = re.compile(r"[\w$]+")
_LOCAL = ("_INTERNAL_", "_GLOBAL__N_")
_COMMENT = re.compile(r"//[^\n]*")
_SPACE = re.compile(r"\s+")
_DEBUG_LINE = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*\n?", re.M)
_DEBUG_SECTION = re.compile(r"^[ \t]*\.section[ \t]+\.debug_\w+\s*\{[^{}]*\}\s*?$\n?", re.M)


@dataclass(frozen=True, slots=True)
class SymbolNames:
    """A translation of names.

    Attributes:
        alone: the name in the source on its own, by the name in a batch.
    """

    alone: Mapping[str, str]

    def outward(self, text: str) -> str:
        """Translate a text of a batch to the names of the source on its own."""
        return _renamed(text, self.alone)

    def inward(self, text: str) -> str:
        """Translate a text of the source on its own to the names in a batch."""
        return _renamed(text, {alone: own for own, alone in self.alone.items()})


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda found: names.get(found[0], found[0]), text)


def without_lines(ptx: str) -> str:
    """Return PTX without line information."""
    return _DEBUG_SECTION.sub("", _DEBUG_LINE.sub("", ptx))


def pair(batch: str, alone: str) -> SymbolNames | None:
    """Match the names of a source's PTX in a batch with those of its PTX on its own.

    None if the functions of the two differ in more than names, or one has other variables.
    """
    (functions, variables), (others, outside) = map(_parts, (batch, alone))
    names: dict[str, str] = {}
    if _WORD.sub("", functions) != _WORD.sub("", others):
        return None
    for own, other in zip(_WORD.findall(functions), _WORD.findall(others), strict=True):
        if names.setdefault(own, other) != other:
            return None
    # The order of variables differs; variables that no function uses are matched by identifier.
    known = {_plain(word): word for word in _WORD.findall(outside)}
    for own in dict.fromkeys(_WORD.findall(variables)):
        if own not in names and owner(name_parts(own)) is not None:
            if _plain(own) not in known:
                return None
            names[own] = known[_plain(own)]
    if len(set(names.values())) < len(names):
        return None
    return SymbolNames({own: other for own, other in names.items() if own != other})


def _parts(ptx: str) -> tuple[str, str]:
    """Return a module's functions, and the rest, without comments and superfluous white space."""
    text = _COMMENT.sub("", without_lines(ptx))
    functions: list[str] = []
    variables: list[str] = []
    for begin, end in blocks(text):
        (functions if begin["function"] else variables).append(text[begin.start() : end])
    return _SPACE.sub(" ", "\n".join(functions)), _SPACE.sub(" ", "\n".join(variables))


def _plain(name: str) -> tuple[str, ...]:
    """Return a name's parts without the namespaces of a variant and of a file."""
    parts = name_parts(name) or (name,)
    return tuple(p for p in parts if owner((p,)) is None and not p.startswith(_LOCAL))
