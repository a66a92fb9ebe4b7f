"""Compare outputs value by value, fast enough to judge every variant on every launch.

The functions take one-dimensional arrays of equal type and length and return masks of wrong values.
They work block by block, so that temporaries stay in the cache, and skip blocks whose bits are all
equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

UNWRITTEN = 0xFFFDA5A5
"""The word that fills outputs before a launch: a NaN as float and double."""

_BLOCK = 1 << 14  # elements whose temporaries stay in the second-level cache


def differing(got: Array, want: Array) -> Mask:
    """Return the mask of values of `got` whose bits differ from `want`. All NaNs are equal, except
    where the reference wrote nothing."""
    bits = f"u{got.dtype.itemsize}"
    wrong: Mask = got.view(bits) != want.view(bits)
    if got.dtype.kind == "f" and wrong.any():
        wrong &= ~(np.isnan(got) & np.isnan(want) & ~unwritten(want))
    return wrong


def unwritten(values: Array) -> Mask:
    """Return the mask of values, of 4 or 8 bytes, that hold the word of unwritten outputs."""
    size = values.dtype.itemsize
    if size not in (4, 8):
        return np.zeros(values.shape, np.bool_)
    found: Mask = values.view(f"u{size}") == (UNWRITTEN << 32 | UNWRITTEN) % (1 << 8 * size)
    return found


def beyond(got: Array, want: Array, absolute: float, relative: float) -> Mask:
    """Return the mask of values that violate ``|got - want| <= absolute + relative * |want|``.

    NaN and infinities are right only if the reference has the same value.
    """

    def judge(block: slice) -> Mask | None:
        g, w = got[block], want[block]
        if _same_bits(g, w):
            return None
        limit = w.astype(np.float64)  # far faster than a ufunc that casts as it goes
        np.abs(limit, out=limit)
        limit *= relative
        limit += absolute
        away = deviation(g, w)
        wrong = ~(np.abs(away, out=away) <= limit)
        wrong |= limit == np.inf  # only the same infinity agrees with an infinite reference
        return wrong & differing(g, w) if wrong.any() else None

    return _blockwise(got.size, judge)


def besides(mask: Mask, got: Array, share: float) -> Mask:
    """Clear a mask of wrong values if their share is at most `share` and all of them are finite."""
    if share and mask.any() and np.isfinite(got[mask]).all():
        mask &= mask.sum() > share * mask.size
    return mask


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of each value over several reference runs.

    Means are stored as deviations from the first run. This is exact for large integers, and exactly
    zero if all runs agree.

    Attributes:
        base: values of the first run; at `odd` indices, of the first finite run.
        shift: mean over the runs minus `base`; float64.
        std: sample standard deviation (n - 1) over the runs; float64.
        odd: indices at which some run is NaN or infinite; there, `shift` and `std` are those of
            the finite runs, NaN if there is none.
        odd_values: values of all runs at `odd` indices, shape (runs, len(odd)).
    """

    base: Array
    shift: NDArray[np.float64]
    std: NDArray[np.float64]
    odd: NDArray[np.intp]
    odd_values: Array

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean over the runs."""
        mean: NDArray[np.float64] = self.base.astype(np.float64) + self.shift
        return mean


def spread(runs: Array) -> Spread:
    """Compute the spread of reference runs from an array of shape (runs, elements)."""
    odd = np.flatnonzero(~np.isfinite(runs).all(axis=0))
    odd_values = runs[:, odd]
    base = runs[0].copy()
    if odd.size:
        rows = np.isfinite(odd_values).argmax(axis=0)
        base[odd] = odd_values[rows, np.arange(odd.size)]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        away = np.stack([deviation(run, base) for run in runs])
        away[~np.isfinite(away)] = np.nan
        count = np.isfinite(away).sum(axis=0)
        shift = np.nansum(away, axis=0) / count
        squares = np.nansum((away - shift) ** 2, axis=0)
        std = np.sqrt(squares / np.maximum(count - 1, 1))
    return Spread(base, shift, std, odd, odd_values)


def outside(got: Array, reference: Spread, k: float, absolute: float) -> Mask:
    """Return the mask of values that violate ``|got - mean| <= k * std + absolute``.

    NaN and infinities are right only if some reference run has the same value.
    """

    def judge(block: slice) -> Mask | None:
        g, w, shift = got[block], reference.base[block], reference.shift[block]
        if _same_bits(g, w) and not shift.any():
            return None
        away = deviation(g, w)
        away -= shift
        limit = k * reference.std[block]
        limit += absolute
        wrong: Mask = ~(np.abs(away, out=away) <= limit)
        return wrong

    wrong = _blockwise(got.size, judge)
    if reference.odd.size:
        there = got[reference.odd]
        seen = ~differing(
            np.broadcast_to(there, reference.odd_values.shape).copy(), reference.odd_values
        )
        known = seen.any(axis=0) & ~np.isfinite(there)
        wrong[reference.odd] = np.where(np.isfinite(there), wrong[reference.odd], ~known)
    return wrong


def deviation(got: Array, want: Array) -> NDArray[np.float64]:
    """Return ``got - want`` as float64, without overflow or loss of an integer's low digits."""
    if got.dtype.kind in "iu" and got.dtype.itemsize == 8:
        size = (np.maximum(got, want) - np.minimum(got, want)).view(np.uint64).astype(np.float64)
        return np.where(got < want, -size, size)
    with np.errstate(invalid="ignore", over="ignore"):
        away = got.astype(np.float64)
        away -= want.astype(np.float64)
        return away


def _same_bits(got: Array, want: Array) -> bool:
    bits = f"u{got.dtype.itemsize}"
    return np.array_equal(got.view(bits), want.view(bits))


def _blockwise(size: int, judge: Callable[[slice], Mask | None]) -> Mask:
    """Apply `judge` to each block and join the masks; None means that a block is right."""
    wrong = np.zeros(size, np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, size, _BLOCK):
            block = slice(start, start + _BLOCK)
            mask = judge(block)
            if mask is not None:
                wrong[block] = mask
    return wrong
