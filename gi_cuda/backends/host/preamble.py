"""What stands in front of the variants of a shard: what nvcc includes without being asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gi_cuda.backends.host.library import INCLUDE

_CUDA: Final = '#include "gi_cuda_host.hpp"\n'

_STANDARD: Final = '#include "gi_standard.hpp"\n'
"""The standard library's headers that nvcc includes; they take longer to read than those above."""

_VARIANTS: Final = "#undef __noinline__\n#define __noinline__ GI_NOT_INLINED\n"

_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]*)', re.M)
_BY_ITSELF: Final = frozenset(
    f"{name}.h" for name in "assert errno float limits math stddef stdint stdio stdlib time".split()
)
"""Headers of C, which need none of the others."""
_SAID: Final = re.compile(
    r"\b(?:std|stderr|stdout|FILE|fprintf|fflush|puts|exit|abort|atoi|atof|s?rand|RAND_MAX"
    r"|EXIT_SUCCESS|EXIT_FAILURE|[cr]ealloc|getenv|qsort|str(?:n?cmp|n?cpy|len|cat|error|str|tod)"
    r"|mem(?:move|cmp)|difftime)\b"
)
"""What variants say that comes out of them."""


def preamble(front: str, texts: Iterable[str]) -> str:
    """The text of a shard up to its variants.

    Args:
        front: the source's own includes.
        texts: of the variants.
    """
    wanted = not all(_alone(name) for name in _INCLUDE.findall(front))
    standard = _STANDARD if wanted or any(map(_SAID.search, texts)) else ""
    return "".join([_CUDA, standard, front, _VARIANTS])


def _alone(header: str) -> bool:
    return header in _BY_ITSELF or (INCLUDE / header).is_file()
