"""Numbers of blocks that host code has as constants, told from how much data there is.

``constexpr int rows = 4096, columns = 4096; k<<<rows, 512>>>(a, rows * columns)`` has a block for
each 4096 items, and with less data there would be blocks that have nothing to do, or that go beyond
what there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.spec.expression import ExpressionError, parse

_SHARES = re.compile(r"\bgridDim\b|\bnum_blocks\b|\bgrid_group\b")
"""What asks for the number of blocks goes through the data whatever that is."""

_MOST_EACH = 16
"""Items of a thread, or threads of an item."""


def in_items(site: LaunchSite, counts: Sequence[str], texts: Sequence[str]) -> LaunchSite:
    """A launch with its numbers of blocks told from how many items there are, where one may.

    Args:
        counts: scalars that may say how much data there is.
        texts: of the functions that run.
    """
    if not site.grid or not site.block or any(map(_SHARES.search, texts)):
        return site
    values = {name: site.values[name] for name in counts if name in site.values}
    sizes = {name: value for name, value in values.items() if isinstance(value, int)}
    block = (*site.block, *["1"] * len(site.grid))
    told = [_told(g, b, sizes) or g for g, b in zip(site.grid, block, strict=False)]
    if (*told,) == site.grid:
        return site
    shown = " x ".join(map(str, site.grid))
    note = f"There are {shown} blocks in the source, for as much data as it has."
    return replace(site, grid=(*told,), note=note)


def _told(blocks: str, threads: str, sizes: Mapping[str, int]) -> str | None:
    """How many blocks there are along a dimension, by the one size of which that can be said."""
    try:
        grid, block = parse(blocks).evaluate({}), parse(threads).evaluate({})
    except ExpressionError:
        return None
    if grid < 2 or block < 1:
        return None
    # What has fewest items for each thread is meant, or else fewest threads for each item.
    many = [block * each for each in range(1, _MOST_EACH + 1)]
    few = [block // each for each in range(2, _MOST_EACH + 1) if block % each == 0]
    for each in (*many, *few):
        told = [text for n, size in sizes.items() if (text := _by(n, grid, each, size))]
        if told:
            return told[0] if len(told) == 1 else None
    # The last block is not full.
    rest = [name for name, size in sizes.items() if grid == -(-size // block)]
    return f"({rest[0]} + {block} - 1) / {block}" if len(rest) == 1 else None


def _by(name: str, grid: int, each: int, size: int) -> str | None:
    """How many blocks there are, if each has so many items."""
    if grid * each != size:
        return None
    return name if each == 1 else f"{name} / {each}"
