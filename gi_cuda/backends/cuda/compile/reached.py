"""Which part of the prelude variants need, found out once on a machine.

It takes seconds, in which compilers have nothing to do: a megabyte of headers is read, and some
variants are compiled with all of it and with the part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from gi_cuda.backends.compile.cache import cached_text
from gi_cuda.backends.compile.identity import digest, of_program, of_text, of_tool, without_places
from gi_cuda.backends.compile.prune import expanded, identifiers
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.staged import ShardSetup, code_of, is_same
from gi_cuda.backends.cuda.compile.texts import COUNTER, shard_text
from gi_cuda.backends.job_threads import both
from gi_cuda.backends.protocol.variants import Phenotype

_TRIED = 4
"""Most variants that are compiled in both ways to see whether they have the same code; one that
compiles is enough."""

_KEPT = 32
"""Parts of headers that are kept on disk."""

_OF_CODE = re.compile(r"--?(?:maxrregcount|fmad|ftz|prec-|use_fast_math|O\d|Xptxas)")
"""Options that are none of the front end's."""

_NAMESPACE = re.compile(r"\bnamespace\s+(\w+)")


def identity_of(whole: ShardSetup, command: Sequence[str], named: Sequence[str]) -> bytes:
    """An identity of all that decides which part of a prelude is needed, beside the variants.

    Args:
        command: the compiler's path, and how it is called.
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
    said = frozenset[str]().union(*(identifiers(one.text) for one in group))
    own = {f"v{one.ident}" for one in group}
    opened = said.intersection(_NAMESPACE.findall(whole.front)) - own

    def found() -> str | None:
        return _tried(whole, names, opened, group, namespaces)

    if identity is None:
        return found()
    # A macro's text is in some variants only, its name is known of all: both give one case.
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
    # All have the same declarations at the begin.
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
