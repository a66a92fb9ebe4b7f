"""Functions that a header declares and the source defines.

In a batch, the header's declaration precedes all variants, and each definition is in the namespace
of its variant; so they are two functions. A call with arguments of a header's type finds both and
is ambiguous. So these declarations are moved into the variants. Definitions in headers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gi_cuda.backends.compile.pruning.declarations import (
    ScopeDeclaration,
    Tokens,
    declarations,
    keys_of,
    read,
    read_once,
)
from gi_cuda.backends.compile.pruning.items import is_plain_function
from gi_cuda.backends.compile.pruning.overloads import said_as_functions


def defined_functions(source: str) -> frozenset[str]:
    """Return the names of the functions that a source defines outside of namespaces.

    None if its brackets do not match.
    """
    tokens = read(source)
    if tokens is None:
        return frozenset()
    bodies = (item for item in declarations(tokens) if _has_body(item))
    return frozenset[str]().union(*(_function(tokens, item) for item in bodies))


class Separated(NamedTuple):
    """The preprocessed text of headers, and the declarations that were removed from it.

    Attributes:
        headers: the text without declarations of functions that the source defines.
        forward: these declarations, in one line, for the begin of every variant.
    """

    headers: str
    forward: str = ""


@lru_cache(maxsize=4)
def separated(headers: str, defined: frozenset[str]) -> Separated:
    """Remove declarations of functions that a source defines from the text of headers.

    Declarations that functions of the headers need stay.
    """
    names = said_as_functions(headers, defined)
    tokens = read_once(headers) if names else None
    if tokens is None:
        return Separated(headers)
    taken: list[tuple[ScopeDeclaration, set[str]]] = []
    called: set[str] = set()
    for item in declarations(tokens):
        own = _function(tokens, item) & names
        if own and not _has_body(item):
            taken.append((item, own))
        elif "{" in item.words:
            called |= tokens.names(item.begin, item.end) & names
    left, forward, at = [], [], 0
    for item, own in taken:
        if not own & called:
            first, last = tokens.starts[item.begin], tokens.ends[item.end - 1]
            left += [headers[at:first], *tokens.directives_in(first, last)]
            forward.append(" ".join(_without_linkage(tokens.words[item.begin : item.end])))
            at = last
    return Separated("".join([*left, headers[at:]]), " ".join(forward))


def _without_linkage(words: Sequence[str]) -> Sequence[str]:
    """Return a declaration without ``extern "C"``, which would ignore the namespace."""
    return words[2:] if words[0] == "extern" and words[1].startswith('"') else words


def _function(tokens: Tokens, item: ScopeDeclaration) -> set[str]:
    """Return the name of a function outside of namespaces; nothing for other declarations."""
    plain = not item.scope and is_plain_function(tokens, item)
    return keys_of(tokens, item) if plain else set()


def _has_body(item: ScopeDeclaration) -> bool:
    return item.words[-1:] == ["{"]
