"""Functions of a source that have the name of a CUDA function.

A source may overload such functions: ``make_float4(float)``, a ``max`` of its own. In a batch,
every variant is in a namespace of its own, where its functions would hide those outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=64)
def said_as_functions(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return the names that occur in a text before a parenthesis.

    Cached, since a compiler's built-in declarations are a megabyte, and variants of a source have
    the same functions.
    """
    if not names:
        return frozenset()
    every = "|".join(map(re.escape, sorted(names)))
    return frozenset(re.findall(rf"\b({every})\s*\(", text))


def outside(names: Iterable[str]) -> str:
    """Return declarations outside of variants that guarantee a function of each name."""
    lines = [f"void ({name})(gi_absent &);\n" for name in sorted(set(names))]
    return "".join(["struct gi_absent;\n", *lines]) if lines else ""


def seen(names: Iterable[str]) -> str:
    """Return using-declarations for the begin of a variant, to keep outside functions visible."""
    return "".join(f"using ::{name}; " for name in sorted(names))
