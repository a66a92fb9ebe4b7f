"""Which part of the prelude variants need, found out once on a machine.

It takes seconds, in which compilers have nothing to do: a megabyte of headers is read, and some
variants are compiled with all of it and with the part.
"""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.backends.compile.cache import cached_text
from gi_cuda.backends.compile.identity import digest
from gi_cuda.backends.compile.prune import identifiers
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.staged import ShardSetup, same_code
from gi_cuda.backends.cuda.compile.texts import COUNTER, shard_text
from gi_cuda.backends.protocol.variants import Phenotype

_TRIED = 4
"""Most variants that are compiled in both ways to see whether they have the same code; one that
compiles is enough."""

_KEPT = 32
"""Parts of headers that are kept on disk."""


def headers_in_reach(
    whole: ShardSetup,
    group: Sequence[Phenotype],
    names: frozenset[str],
    namespaces: Sequence[str],
    identity: bytes | None,
) -> str | None:
    """The part of a prelude that variants can reach, preprocessed; "" where code is another one
    with it, None where nothing can be said, as no variant compiles.

    Args:
        whole: with all of the prelude.
        group: variants with the same options.
        names: that are said besides what the variants say.
        namespaces: in which variants may lie.
        identity: of what compiles them; None: nothing is kept.
    """
    first = group[0]
    said = frozenset[str]().union(*map(identifiers, (COUNTER, *first.options, first.text)))
    # What no header says, such as where the variant lies and how its loops are guarded, reaches
    # nothing, and would make of each group a case of its own.
    headers = f"{whole.front}\n{whole.macros}"
    names |= {name for name in said if name in headers} - {f"v{first.ident}"}

    def found() -> str | None:
        return _tried(whole, names, group, namespaces)

    if identity is None:
        return found()
    return cached_text("reach", digest([identity, *sorted(names)]).hex(), found, _KEPT)


def _tried(
    whole: ShardSetup,
    names: frozenset[str],
    group: Sequence[Phenotype],
    namespaces: Sequence[str],
) -> str | None:
    part = whole.within_reach_of(names)
    for phenotype in group[:_TRIED]:
        text = shard_text("", [phenotype], namespaces, part.forward)
        same = same_code(whole, part, phenotype, text, COMPILE_LIMIT)
        if same is not None:
            return part.front if same else ""
    return None
