"""Find the part of the prelude that variants need, once per machine.

This takes seconds in which compilers are idle: a megabyte of headers is parsed, and some variants
are compiled with the whole prelude and with the part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from gi_cuda.backends.compile.caching.cache import cached_text
from gi_cuda.backends.compile.caching.identity import (
    digest,
    of_program,
    of_text,
    of_tool,
    without_places,
)
from gi_cuda.backends.compile.pruning.prune import expanded, identifiers
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.staged import ShardSetup, code_of, is_same
from gi_cuda.backends.cuda.compile.texts import COUNTER, shard_text
from gi_cuda.backends.job_threads import both
from gi_cuda.backends.protocol.variants import Phenotype

_TRIED = 4
"""The most variants that are compiled in both ways until one compiles, whose code is compared."""

_KEPT = 32
"""Number of preludes' parts that are kept on disk."""

_OF_CODE = re.compile(r"--?(?:maxrregcount|fmad|ftz|prec-|use_fast_math|O\d|Xptxas)")
"""Options that do not affect the front end."""

_NAMESPACE = re.compile(r"\bnamespace\s+(\w+)")


def identity_of(whole: ShardSetup, command: Sequence[str], named: Sequence[str]) -> bytes:
    """Return a hash of all that decides which part of a prelude variants need, except variants.

    Args:
        command: the compiler's path and its options.
        named: the kernels, symbols and namespaces.
    """
    program, *words = command
    said = [one for one in without_places(words) if not _OF_CODE.match(one)]
    return digest([of_tool(), of_program(program), *said, "", *named, "", of_text(whole.told)])


def headers_in_reach(
    whole: ShardSetup,
    group: Sequence[Phenotype],
    names: frozenset[str],
    namespaces: Sequence[str],
    identity: bytes | None,
) -> str | None:
    """Return the part of a preprocessed prelude that variants need.

    "" if code differs with each part that was tried; None if this is not known, because no variant
    compiles.

    Args:
        whole: setup with the whole prelude.
        group: variants with the same options.
        names: names that may be used besides those in the variants.
        namespaces: namespaces that variants may be in.
        identity: see :func:`identity_of`; None: the result is not stored.
    """
    first = group[0]
    said = frozenset[str]().union(*map(identifiers, (COUNTER, *first.options, first.text)))
    # Leave out names that no header contains, e.g. those for the variant's place and the guards of
    # its loops: they lead to nothing, and would give each group a cache key of its own.
    headers = f"{whole.front}\n{whole.macros}"
    names |= {name for name in said if name in headers} - {f"v{first.ident}"}
    said = frozenset[str]().union(*(identifiers(one.text) for one in group))
    own = {f"v{one.ident}" for one in group}
    opened = said.intersection(_NAMESPACE.findall(whole.front)) - own

    def found() -> str | None:
        return _tried(whole, names, opened, group, namespaces)

    if identity is None:
        return found()
    # Expanding macros makes the key the same whether variants contain a macro or its expansion.
    reached = expanded(names, whole.macros)
    told: list[str | bytes] = [identity, *sorted(reached), "", *sorted(opened)]
    return cached_text("reach", digest(told).hex(), found, _KEPT)


def _tried(
    whole: ShardSetup,
    names: frozenset[str],
    opened: frozenset[str],
    group: Sequence[Phenotype],
    namespaces: Sequence[str],
) -> str | None:
    # All variants begin with the same declarations.
    texts = {one.ident: shard_text("", [one], namespaces, whole.forward) for one in group[:_TRIED]}

    def first_that_compiles() -> tuple[int, frozenset[str]] | None:
        made = ((ident, code_of(whole, text, COMPILE_LIMIT)) for ident, text in texts.items())
        return next(((ident, code) for ident, code in made if code is not None), None)

    found, narrow = both(first_that_compiles, partial(whole.within_reach_of, names, opened))
    if found is None:
        return None
    ident, code = found

    def is_enough(part: ShardSetup) -> bool:
        less = code_of(part, texts[ident], COMPILE_LIMIT)
        return less is not None and is_same(code, less, ident)

    if is_enough(narrow):
        return narrow.front
    wide = whole.within_reach_of(names)
    return wide.front if is_enough(wide) else ""
