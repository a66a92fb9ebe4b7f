"""The cases of a proposal: two of each role, and how much data there is in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from gi_cuda.init.kernel.sizes import Extent

TRAIN, HELD_OUT = "train", "held-out"
LARGE, LARGE_HELD_OUT = "large", "large-held-out"

_SHARE = 0.5
"""Of the data of a first case, what the second one of its role has."""

_NEARLY = 0.9
_WHOLE = 8
"""Sizes that are no multiples of this are none of blocks or tiles."""

_GRANULES = 4
"""Parts into which the largest power of two in a size is cut, of which another size has several."""


class Second(Enum):
    """How much data there is in the second case of each role, beside the first one."""

    ODD = "about half as much, in odd sizes"
    WHOLE = "about half as much, in sizes that are multiples as the first ones are"
    FEWER = "half as much, or two thirds, of the largest even size alone, in whole blocks"
    NEARLY = "on the host nearly as much, in odd sizes"
    SAME = "as much"
    NONE = "there is no second case"


@dataclass(frozen=True, slots=True)
class CaseSizes:
    """One case of a proposal.

    Attributes:
        device: whether it is for a GPU, with sizes of its own.
        sizes: of each extent, in order.
    """

    name: str
    role: str
    device: bool
    sizes: tuple[int, ...]


def second_of(extents: Sequence[Extent]) -> Second:
    """The second cases where nothing was tried: odd sizes where those of the first are free."""
    sizes = [size for one in extents if _is_free(one) for size in (one.train, one.held_out)]
    return Second.ODD if any(size % _WHOLE for size in sizes) else Second.WHOLE


def cases(extents: Sequence[Extent], second: Second) -> tuple[CaseSizes, ...]:
    """The cases for the host, and those for a GPU where these have other sizes."""
    same = all(one.device == one.train for one in extents)
    return tuple(one for one in every_case(extents, second) if not (same and one.device))


def every_case(extents: Sequence[Extent], second: Second) -> tuple[CaseSizes, ...]:
    """The cases for the host and those for a GPU, whether or not they differ."""
    first = [
        CaseSizes(TRAIN, TRAIN, False, tuple(one.train for one in extents)),
        CaseSizes(HELD_OUT, HELD_OUT, False, tuple(one.held_out for one in extents)),
        CaseSizes(LARGE, TRAIN, True, tuple(one.device for one in extents)),
        CaseSizes(LARGE_HELD_OUT, HELD_OUT, True, tuple(held_out_on_device(extents))),
    ]
    first[1] = _padded_alike(extents, first[0], first[1])
    if second is Second.NONE:
        return tuple(first)
    found = []
    for one in first:
        other = replace(one, name=f"{one.name}-2", sizes=_less(extents, one, second))
        found += [one, other]
    found[3] = _padded_alike(extents, found[1], found[3], found[2].sizes)
    return tuple(found)


def _padded_alike(
    extents: Sequence[Extent],
    train: CaseSizes,
    held_out: CaseSizes,
    most: Sequence[int] | None = None,
) -> CaseSizes:
    """Return a held-out case whose sizes are padded as those of a train case, whatever the block:
    else another block is faster on one of them by its padding alone.

    Args:
        most: what its sizes may be; None: anything.
    """
    sizes = list(held_out.sizes)
    for n, one in enumerate(extents):
        if _is_free(one):
            sizes[n] = alike_padding(train.sizes[n], sizes[n], most[n] if most else None)
    return replace(held_out, sizes=tuple(sizes))


_EDGES = (8, 16, 32)
"""Threads along one axis of a block for which small sizes are padded by much."""

_NEGLIGIBLE = 0.05
"""Blocks whose padding differs by so little between two sizes are as fast on either."""


def padding(size: int, edge: int) -> float:
    """Return how many times as many threads as items there are along an axis."""
    return -(-size // edge) * edge / size


def alike_padding(train: int, held_out: int, most: int | None = None) -> int:
    """Return the size nearest to a held-out one that blocks pad as they do the train one, and that
    is another one; the held-out one where there is none. ``alike_padding(39, 30)`` is 38: blocks of
    8, 16 and 32 have 40, 48 and 64 threads for either.

    Args:
        most: that it may be; None: twice the larger one.
    """

    def off(size: int) -> float:
        return max(abs(math.log(padding(train, e) / padding(size, e))) for e in _EDGES)

    if off(held_out) <= _NEGLIGIBLE:
        return held_out
    whole = (train | held_out) & -(train | held_out)  # a power of two that divides both
    last = 2 * max(train, held_out) if most is None else most
    least = max(1, min(train, held_out) // 2 // whole) * whole
    near = range(least, last + 1, whole)
    fit = [one for one in near if one != train and off(one) <= _NEGLIGIBLE]
    return min(fit, key=lambda one: abs(one - held_out), default=held_out)


def held_out_on_device(extents: Sequence[Extent]) -> list[int]:
    """What each extent is in the held-out case on a GPU: half as much of the first of data that may
    be another one, or of the first of all."""
    data = [one for one in extents if not one.blocks]
    first = next(filter(_is_free, data), next(iter(data), None))
    return [max(1, one.device // (2 if one is first else 1)) for one in extents]


def _is_free(one: Extent) -> bool:
    """Whether a size may be another one: what train and held-out case share is the same in all."""
    return not one.blocks and one.train != one.held_out


def _less(extents: Sequence[Extent], first: CaseSizes, second: Second) -> tuple[int, ...]:
    """The sizes of a second case."""
    if second is Second.SAME:
        return first.sizes
    if second is Second.FEWER:
        return _fewer(extents, first.sizes)
    # A GPU has so much to do that half of it can be timed as well.
    share = _NEARLY if second is Second.NEARLY and not first.device else _SHARE
    free = [size for one, size in zip(extents, first.sizes, strict=True) if _is_free(one)]
    shares = iter(_shares(free, share))
    return tuple(
        _scaled(size, next(shares), odd=second is not Second.WHOLE) if _is_free(one) else size
        for one, size in zip(extents, first.sizes, strict=True)
    )


def _fewer(extents: Sequence[Extent], sizes: Sequence[int]) -> tuple[int, ...]:
    """With less of one size, in multiples of the power of two that is in it."""
    even = [n for n, one in enumerate(extents) if _is_free(one) and not sizes[n] % 2]
    largest = max(even, key=lambda n: sizes[n], default=None)

    def less(size: int) -> int:
        power = size & -size
        return size - power if size > power else size // 2

    return tuple(less(size) if n == largest else size for n, size in enumerate(sizes))


def _shares(sizes: Sequence[int], share: float) -> list[float]:
    """What is left of each size where that share of all data is: of sizes that are alike less of
    the later ones, so that no variant may take one for another."""
    alike = len(set(sizes)) < len(sizes)
    weights = [1 + number if alike else 1 for number in range(len(sizes))]
    return [share ** (weight / sum(weights)) for weight in weights]


def _scaled(size: int, share: float, *, odd: bool) -> int:
    """About that share of a size, and not all of it unless it is 1."""
    if odd:
        return min(round(size * share) | 1, max(1, size - 1))
    granule = max(1, (size & -size) // _GRANULES)
    return max(granule, round(size * share) // granule * granule)
