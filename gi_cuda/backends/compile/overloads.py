"""Functions of a source that share their name with functions of the language.

A source may overload what CUDA has: ``make_float4(float)``, a ``max`` of its own. In a batch every
variant is in a namespace of its own, where its functions would hide those outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=64)
def said_as_functions(text: str, names: frozenset[str]) -> frozenset[str]:
    """Those of some names that a text has before a parenthesis.

    Remembered, since all that a compiler has built in is a megabyte, and variants of a source have
    the same functions.
    """
    if not names:
        return frozenset()
    every = "|".join(map(re.escape, sorted(names)))
    return frozenset(re.findall(rf"\b({every})\s*\(", text))


def outside(names: Iterable[str]) -> str:
    """Declarations that make sure that there are functions of these names outside of variants."""
    lines = [f"void ({name})(gi_absent &);\n" for name in sorted(set(names))]
    return "".join(["struct gi_absent;\n", *lines]) if lines else ""


def seen(names: Iterable[str]) -> str:
    """For the begin of a variant: its own functions of these names do not hide those outside."""
    return "".join(f"using ::{name}; " for name in sorted(names))
