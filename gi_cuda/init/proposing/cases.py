"""Cases of a proposal, two of each role, and their sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from gi_cuda.init.kernel.sizes import Extent

TRAIN, HELD_OUT = "train", "held-out"
LARGE, LARGE_HELD_OUT = "large", "large-held-out"

_SHARE = 0.5
"""Size of the second case of a role, relative to the first."""

_NEARLY = 0.9
_WHOLE = 8
"""A size that is not a multiple of this does not fill blocks or tiles."""

_GRANULES = 4
"""Even sizes are rounded to multiples of their largest power of two divided by this."""


class Second(Enum):
    """Size of the second case of each role, relative to the first one."""

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
        device: True for a GPU case, which has sizes of its own.
        sizes: the value of each extent, in order.
    """

    name: str
    role: str
    device: bool
    sizes: tuple[int, ...]


def second_of(extents: Sequence[Extent]) -> Second:
    """Return the default for the second cases: odd sizes if those of the first cases are odd."""
    sizes = [size for one in extents if _is_free(one) for size in (one.train, one.held_out)]
    return Second.ODD if any(size % _WHOLE for size in sizes) else Second.WHOLE


def cases(extents: Sequence[Extent], second: Second) -> tuple[CaseSizes, ...]:
    """Return the cases for the host, and those for a GPU if their sizes differ."""
    same = all(one.device == one.train for one in extents)
    return tuple(one for one in every_case(extents, second) if not (same and one.device))


def every_case(extents: Sequence[Extent], second: Second) -> tuple[CaseSizes, ...]:
    """Return the cases for the host and those for a GPU, even if they do not differ."""
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
    """Return a held-out case that blocks pad like the train case, for any usual block size.

    Otherwise another block size would be faster on one of the cases because of padding alone.

    Args:
        most: largest values of its sizes; None for no limit.
    """
    sizes = list(held_out.sizes)
    for n, one in enumerate(extents):
        if _is_free(one):
            sizes[n] = alike_padding(train.sizes[n], sizes[n], most[n] if most else None)
    return replace(held_out, sizes=tuple(sizes))


_EDGES = (8, 16, 32)
"""Block edges that pad small sizes by much."""

_NEGLIGIBLE = 0.05
"""Largest difference in padding (of logarithms) that does not affect times."""


def padding(size: int, edge: int) -> float:
    """Return the number of threads along an axis, relative to the number of items."""
    return -(-size // edge) * edge / size


def alike_padding(train: int, held_out: int, most: int | None = None) -> int:
    """Return the size nearest to `held_out` that blocks pad like `train`, and that is not `train`.

    ``alike_padding(39, 30)`` is 38: blocks of 8, 16 and 32 have 40, 48 and 64 threads for either.
    Returns `held_out` if there is no such size.

    Args:
        most: largest result; None for twice the larger size.
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
    """Return the value of each extent in the held-out case on a GPU.

    One extent is halved: the first that differs between cases, otherwise the first.
    """
    data = [one for one in extents if not one.blocks]
    first = next(filter(_is_free, data), next(iter(data), None))
    return [max(1, one.device // (2 if one is first else 1)) for one in extents]


def _is_free(one: Extent) -> bool:
    """Tell whether a size may change; one that train and held-out case share is fixed."""
    return not one.blocks and one.train != one.held_out


def _less(extents: Sequence[Extent], first: CaseSizes, second: Second) -> tuple[int, ...]:
    """Return the sizes of a second case."""
    if second is Second.SAME:
        return first.sizes
    if second is Second.FEWER:
        return _fewer(extents, first.sizes)
    # GPU cases are large enough that half the size can still be timed.
    share = _NEARLY if second is Second.NEARLY and not first.device else _SHARE
    free = [size for one, size in zip(extents, first.sizes, strict=True) if _is_free(one)]
    shares = iter(_shares(free, share))
    return tuple(
        _scaled(size, next(shares), odd=second is not Second.WHOLE) if _is_free(one) else size
        for one, size in zip(extents, first.sizes, strict=True)
    )


def _fewer(extents: Sequence[Extent], sizes: Sequence[int]) -> tuple[int, ...]:
    """Reduce the largest even size by its lowest power of two; halve a power of two."""
    even = [n for n, one in enumerate(extents) if _is_free(one) and not sizes[n] % 2]
    largest = max(even, key=lambda n: sizes[n], default=None)

    def less(size: int) -> int:
        power = size & -size
        return size - power if size > power else size // 2

    return tuple(less(size) if n == largest else size for n, size in enumerate(sizes))


def _shares(sizes: Sequence[int], share: float) -> list[float]:
    """Return factors for sizes whose product is `share`.

    If some sizes are equal, later ones shrink more, so that swapping two changes results.
    """
    alike = len(set(sizes)) < len(sizes)
    weights = [1 + number if alike else 1 for number in range(len(sizes))]
    return [share ** (weight / sum(weights)) for weight in weights]


def _scaled(size: int, share: float, *, odd: bool) -> int:
    """Scale a size to less than itself: an odd size, or a multiple of a power of two."""
    if odd:
        return min(round(size * share) | 1, max(1, size - 1))
    granule = max(1, (size & -size) // _GRANULES)
    return max(granule, round(size * share) // granule * granule)
