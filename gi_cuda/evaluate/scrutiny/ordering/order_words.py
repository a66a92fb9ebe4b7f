"""Comparison of two texts in the constructs that order threads."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

_ORDERS: Final = re.compile(
    r"""\b(?:__syncthreads|__syncwarp|__threadfence|__shfl|__ballot|__any|__all|__activemask|__match
        |__reduce|__nanosleep|atomic)\w*\b
      | \b(?:sync|arrive|wait|arrive_and_wait|thread_rank|memory_order\w*)\b | \bvolatile\b
      | \b(?:shfl\w*|ballot|match_a\w+|reduce\w*|\w+_scan\w*|\w*partition|coalesced_threads)\b
      | \b(?:bar|barrier|membar|fence|atom|red|shfl|vote|activemask)\.
      | \b(?:bar|barrier|membar|fence|mbarrier|atom|cp\.async|cmpxchg)\b""",
    re.VERBOSE,
)
"""Constructs that order the actions of threads."""

_ORDERS_BLOCKS: Final = re.compile(
    r"\b(?:__threadfence|atomic)\w*\b|\bvolatile\b|\bmemory_order\w*\b|\bsync\b"
    r"|\b(?:membar|fence|atom|red)\.|\b(?:fence|cmpxchg)\b"
)
"""Constructs that order accesses to memory that blocks share."""

_FLOW: Final = re.compile(
    r"\b(?:if|else|for|while|do|switch|case|return|break|continue|goto|br|bra|ret|exit)\b|[?{}]|@!?%"
)
"""Constructs that decide which threads reach a place, and how often."""


def changes_order(before: str, after: str) -> bool:
    """Tell whether two texts differ in the order of threads.

    They do if a barrier, fence, warp function or atomic function was added, removed or moved, or if
    other threads reach one.
    """
    ordered = any(map(_ORDERS.search, (before, after)))
    lines = _touched(before, after) if ordered else ()
    return any(_ORDERS.search(line) or _FLOW.search(line) for line in lines)


def changes_order_of_blocks(before: str, after: str) -> bool:
    """Tell whether two texts differ in a construct that orders threads of several blocks."""
    return any(map(_ORDERS_BLOCKS.search, _touched(before, after)))


def _touched(before: str, after: str) -> list[str]:
    """Return the lines that only one of two texts has."""
    old, new = (_lines(text) for text in (before, after))
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        line for tag, a, b, c, d in changes if tag != "equal" for line in (*old[a:b], *new[c:d])
    ]


def _lines(text: str) -> list[str]:
    """Return the non-empty lines of a preprocessed text, without directives, with single spaces."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]
