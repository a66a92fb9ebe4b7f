"""Comparing outputs value by value, fast enough to judge every variant on every launch.

All functions take one-dimensional arrays of equal type and length and return masks of what is
wrong. They look closely only at blocks in which some bit differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_BLOCK = 1 << 15  # elements whose temporaries stay in the second-level cache


def differing(got: Array, want: Array) -> Mask:
    """Where `got` is not bit for bit `want`; one NaN is as good as another."""
    bits = f"u{got.dtype.itemsize}"
    wrong: Mask = got.view(bits) != want.view(bits)
    if got.dtype.kind == "f" and wrong.any():
        wrong &= ~(np.isnan(got) & np.isnan(want))
    return wrong


def beyond(got: Array, want: Array, absolute: float, relative: float) -> Mask:
    """Where not ``|got - want| <= absolute + relative * |want|``.

    NaN and infinities pass only where the reference has the very same.
    """

    def judge(block: slice) -> Mask:
        g, w = got[block], want[block]
        limit = absolute + relative * np.abs(w.astype(np.float64))
        wrong = ~(np.abs(deviation(g, w)) <= limit)
        return _or_infinite(wrong, g, w) & differing(g, w)

    return _blockwise(differing(got, want), judge)


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the values of several reference runs lie apart.

    Means are kept as deviations from the first run: exact for large integers, and exactly zero
    where all runs agree.

    Attributes:
        base: the first run.
        shift: mean over the runs, less `base`; float64.
        std: sample standard deviation (n - 1) over the runs; float64.
        odd: indices at which some run is NaN or infinite; there `shift` and `std` are those of
            the finite runs, NaN if there is none.
        odd_values: the values of all runs at those places, shape (runs, len(odd)).
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
    """The spread of reference runs, given as an array of shape (runs, elements)."""
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
    """Where not ``|got - mean| <= k * std + absolute``.

    NaN and infinities pass only where some reference run has the very same.
    """

    def judge(block: slice) -> Mask:
        g, w = got[block], reference.base[block]
        away = deviation(g, w) - reference.shift[block]
        wrong: Mask = ~(np.abs(away) <= k * reference.std[block] + absolute)
        return wrong

    unlike = differing(got, reference.base) | (reference.shift != 0)
    wrong = _blockwise(unlike, judge)
    if reference.odd.size:
        there = got[reference.odd]
        seen = ~differing(
            np.broadcast_to(there, reference.odd_values.shape).copy(), reference.odd_values
        )
        known = seen.any(axis=0) & ~np.isfinite(there)
        wrong[reference.odd] = np.where(np.isfinite(there), wrong[reference.odd], ~known)
    return wrong


def deviation(got: Array, want: Array) -> NDArray[np.float64]:
    """``got - want`` as float64, without wrapping round or losing an integer's low digits."""
    if got.dtype.kind in "iu" and got.dtype.itemsize == 8:
        size = (np.maximum(got, want) - np.minimum(got, want)).view(np.uint64).astype(np.float64)
        return np.where(got < want, -size, size)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(got.astype(np.float64) - want.astype(np.float64))


def _or_infinite(wrong: Mask, got: Array, want: Array) -> Mask:
    if got.dtype.kind == "f":
        wrong |= np.isinf(got) | np.isinf(want)
    return wrong


def _blockwise(unlike: Mask, judge: Callable[[slice], Mask]) -> Mask:
    """`unlike`, with each block in which it holds anywhere replaced by what `judge` says."""
    wrong = np.zeros_like(unlike)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, unlike.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            if unlike[block].any():
                wrong[block] = judge(block)
    return wrong
