"""Text before the variants of a shard: the headers that nvcc includes implicitly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from gi_cuda.backends.host.build.library import INCLUDE
from gi_cuda.backends.host.build.prepare import with_ptx

_CUDA: Final = '#include "gi_cuda_host.hpp"\n'

_SHARED: Final = "#define __shared__ GI_SHARED\n"
"""Definition for headers that do not evolve: their shared memory is the same for all variants."""

_VARIANTS: Final = "#undef __shared__\n#undef __noinline__\n#define __noinline__ GI_NOT_INLINED\n"

_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]*)', re.M)
_BY_ITSELF: Final = frozenset(
    f"{name}.h"
    for name in ("assert", "errno", "float", "limits", "math", "stddef", "stdint", "time")
)
"""Headers of C, which need none of the headers below."""
_PARTS: Final = {
    "gi_ptx.hpp": re.compile(r"\basm\b|\b__asm|\b__cvta_|\b__is(?:Global|Shared|Local|Constant)\b"),
    "gi_ptx_matrices.hpp": re.compile(r"\b(?:[ls][dt]matrix|mma)\b\s*(?:\.\s*(?:sync\b|$)|$)"),
    "gi_rounding.hpp": re.compile(r"\b__\w+_r[nzud]\b"),
    "gi_simd.hpp": re.compile(r"\b__(?:v\w+[24]|vi\w+|fns|dp[24]a\w*)\b"),
    "gi_special.hpp": re.compile(
        r"\b(?:scalb\w+|modf|frexp|remquof?|ilogb|l?l(?:rint|round)f?|sincos|nanf?|[jy][01n]f?|powif?"
        r"|u?ll(?:min|max)|(?:sin|cos|sincos)pif?|rcbrtf?|r?norm(?:f|[34]df?)?|rhypotf?|erfcxf?"
        r"|erfc?invf?|normcdf\w*|cyl_bessel\w*)\s*(?:\(|$)"
    ),
    "gi_standard.hpp": re.compile(
        r"\b(?:std|stderr|stdout|FILE|fprintf|fflush|puts|exit|abort|atoi|atof|s?rand|RAND_MAX"
        r"|EXIT_SUCCESS|EXIT_FAILURE|[cr]ealloc|getenv|qsort|str(?:n?cmp|n?cpy|len|cat|error|str)"
        r"|strto\w+|mem(?:move|cmp)|difftime)\b"
    ),
    "gi_textures.hpp": re.compile(
        r"\b(?:CU)?(?:tex|surf)|[tT]exture|[sS]urface"
        r"|\bcuda(?:A(?:rray|ddressMode)|Boundary|Channel|Extent|Filter|Mipmapped|ReadMode)"
    ),
}
"""Headers that take long to parse, with patterns for lines that need them.

A word at the end of a line counts if its continuation may be in the next line.
"""


def preamble(front: str, texts: Sequence[str]) -> str:
    """Return the text of a shard before its variants.

    Args:
        front: the source's own includes; its own headers may use everything.
        texts: the variants' texts.
    """
    own = not all(_alone(name) for name in _INCLUDE.findall(front))
    return _before(front, _PARTS if own else _said(texts))


def preamble_with(headers: str, texts: Sequence[str]) -> str:
    """Return the text of a shard before its variants, with preprocessed headers.

    Args:
        headers: the preprocessed text of the source's own headers, and includes of others.
        texts: the variants' texts.
    """
    return _before(with_ptx(headers), _said([headers, *texts]))


def _said(texts: Iterable[str]) -> Sequence[str]:
    lines = frozenset[str]().union(*(text.splitlines() for text in texts))
    wanted = frozenset[str]().union(*map(_wanted, lines))
    return [name for name in _PARTS if name in wanted]


@lru_cache(maxsize=1 << 16)
def _wanted(line: str) -> frozenset[str]:
    """Return the headers that a line needs; cached, as variants share nearly all lines."""
    return frozenset(name for name, said in _PARTS.items() if said.search(line))


def _before(front: str, parts: Iterable[str]) -> str:
    included = [f'#include "{name}"\n' for name in parts]
    return "".join([_CUDA, *included, _SHARED, front, _VARIANTS])


def _alone(header: str) -> bool:
    return header in _BY_ITSELF or (INCLUDE / header).is_file()
