"""Which part of the prelude variants need, found out once on a machine.

It takes seconds, in which compilers have nothing to do: a megabyte of headers is read, and some
variants are compiled with all of it and with the part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gi_cuda.backends.compile.cache import cached_text
from gi_cuda.backends.compile.identity import digest
from gi_cuda.backends.compile.prune import identifiers
from gi_cuda.backends.compile.source import COMPILE_LIMIT
from gi_cuda.backends.cuda.compile.staged import AS_IT_IS, ShardSetup, same_code
from gi_cuda.backends.cuda.compile.texts import COUNTER, pointers, shard_text
from gi_cuda.backends.protocol.variants import Phenotype

if TYPE_CHECKING:
    from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler

_TRIED = 4
"""Most variants that are compiled in both ways to see whether they have the same code; one that
compiles is enough."""

_KEPT = 32
"""Parts of headers that are kept on disk."""


def headers_in_reach(
    compiler: NvccCompiler, whole: ShardSetup, group: Sequence[Phenotype]
) -> str | None:
    """The part of a prelude that variants can reach, preprocessed; "" where code is another one
    with it, None where nothing can be said, as no variant compiles.

    Args:
        whole: with all of the prelude.
        group: variants with the same options.
    """
    first = group[0]
    exports = pointers(compiler.kernels, compiler.symbols)
    said = (COUNTER, exports, *first.options, first.text)
    own = {f"v{first.ident}"}  # in which the variant lies, and which no header says
    names = compiler.names.union(*(identifiers(text) - own for text in said))

    def found() -> str | None:
        return _tried(compiler, whole, names, group)

    # How PTX becomes machine code makes no difference.
    identity = replace(compiler, way=AS_IT_IS).identity(first.options)
    if identity is None:
        return found()
    return cached_text("reach", digest([identity, *sorted(names)]).hex(), found, _KEPT)


def _tried(
    compiler: NvccCompiler, whole: ShardSetup, names: frozenset[str], group: Sequence[Phenotype]
) -> str | None:
    part = whole.within_reach_of(names)
    for phenotype in group[:_TRIED]:
        text = shard_text("", [phenotype], compiler.namespaces, part.forward)
        same = same_code(whole, part, phenotype, text, COMPILE_LIMIT)
        if same is not None:
            return part.front if same else ""
    return None
