"""Compute tolerances of results from their differences between runs of the application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.capture.launches.observed import in_parts
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init.proposing.buffers import SMALL_ACCURACY
from gi_cuda.spec.numbers import NumberType, seen
from gi_cuda.spec.oracles.unordered import sorted_rows

ACCURACY = {**SMALL_ACCURACY, "float32": 1e-5, "float64": 1e-10}
"""Smallest tolerance by type, as a share of each value and of the largest value. Summation in
another order changes results by this much: where large numbers cancel, their rounding errors
remain. With a tenth of this tolerance, every other order failed in some of 1024 sums of 8192
terms."""

_MARGIN = 4.0
"""Factor between the observed difference of runs and the tolerance."""

_SCALES = 1e3
"""Largest ratio between the scales of two launches' answers. Beyond it, the smaller scale sets the
absolute tolerance; that of the larger one would hide all results of the other launch."""

_SEEN = 0.5
"""Share of the values changed by a launch that must differ from its inputs by more than the
tolerance."""

_STEP = 4.0
"""Factor by which the tolerance is reduced at a time until `_SEEN` is reached."""

_MOST = 1 << 16
"""Largest number of differing values that are sampled from a part of an array."""

Differing = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values of two arrays at the positions at which they differ."""

_TWICE = 2.0
"""Factor between the original's own error and the allowed difference of a rewrite. A rewrite of
equal accuracy may be off by the same amount in the opposite direction."""

_MOSTLY = 95
"""Percentile of the errors that sets the tolerance of most values, if the largest error is more
than twice as large. Then twice the share of values beyond the percentile may be further off."""

_WIDEST, _FURTHEST = 10.0, 100.0
"""Largest multiples of the usual tolerance, for most values and for the others. Larger errors do
not come from rounding alone, and a tolerance for them would hide faults."""

_SAMPLE, _DIFFERENT = 1 << 12, 64
"""Number of sampled output values that are searched for among a launch's inputs, and the fewest
different values for that. A few values, such as zeros and ones, occur in any input."""

_LEAST = 2.0
"""Smallest tolerance, in units of the last bit. A smaller one leaves no room for rounding."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Tolerance of the values of a buffer.

    Attributes:
        absolute: absolute tolerance.
        relative: relative tolerance.
        why: reason for the tolerance, as a line of text.
        together: buffers whose rows, taken together, may be in any order.
        outside: share of the values that may exceed the tolerance.
        furthest: largest multiple of the tolerance for these values.
    """

    absolute: float
    relative: float
    why: str
    together: tuple[str, ...] = ()
    outside: float = 0.0
    furthest: float = 1.0

    @property
    def exact(self) -> bool:
        """Tell whether every bit must be equal."""
        return not self.absolute and not self.relative

    def tells(self, answer: NDArray[Any], other: NDArray[Any]) -> bool:
        """Tell whether most of the differing values differ by more than the tolerance."""
        return self._notices(differing(answer, other))

    def _notices(self, differ: Differing) -> bool:
        wanted, given = differ
        with np.errstate(all="ignore"):
            near = np.abs(given - wanted) <= self.absolute + self.relative * np.abs(wanted)
        return bool(np.count_nonzero(~near) >= _SEEN * len(near))

    def tells_most(self, cases: Sequence[Sequence[Differing]]) -> bool:
        """Tell whether most differing values exceed the tolerance, in half of the launches or more.

        Args:
            cases: for each launch, the differences of its answer from each input.
        """
        return 2 * sum(all(map(self._notices, case)) for case in cases) >= len(cases)


def differing(answer: NDArray[Any], other: NDArray[Any]) -> Differing:
    """Return the values that differ between two arrays; an even sample if there are many."""
    found = []
    for wanted, given in in_parts(answer, other):
        where = np.flatnonzero((wanted != given) & ~(np.isnan(wanted) & np.isnan(given)))
        where = where[:: 1 + len(where) // _MOST]
        found.append((wanted[where].astype(np.float64), given[where].astype(np.float64)))
    first, second = zip(*found, strict=True) if found else ((np.empty(0),), (np.empty(0),))
    return np.concatenate(first), np.concatenate(second)


def reals(element: Element, values: NDArray[Any]) -> NDArray[Any]:
    """Return the real numbers in an array, including those in structs, as an oracle reads them."""
    if not element.fields:
        return seen(values, NumberType(element.type))
    items, parts = values.reshape(-1, element.parts), []
    for one in element.fields:
        kind = NumberType(one.type)
        if kind.real:
            member = items[:, one.at : one.at + kind.dtype.itemsize * one.length]
            parts.append(seen(np.ascontiguousarray(member).view(kind.dtype).ravel(), kind))
    return np.concatenate(parts)


def passed_on(before: NDArray[Any], after: NDArray[Any], inputs: Sequence[NDArray[Any]]) -> bool:
    """Tell whether all values that a launch wrote to a buffer occur in its inputs, bit for bit.

    Then the kernel moves or selects values and rounds none. A sample of the values is tested; with
    too few different values the result is False.

    Args:
        before, after: the buffer before and after the launch.
        inputs: input buffers of the same type.
    """
    changed = [
        new[new != old][:_SAMPLE] for old, new in in_parts(*(_bits(one) for one in (before, after)))
    ]
    every = np.unique(np.concatenate([*changed, _bits(after)[:0]]))
    sample = every[:: -(-len(every) // _SAMPLE) or 1]
    if len(sample) < _DIFFERENT:
        return False
    there = np.zeros(1 << 16, np.bool_)
    there[_hashes(sample)] = True
    found = np.zeros(len(sample), np.bool_)
    for one in inputs:
        for (part,) in in_parts(_bits(one)):
            found |= np.isin(sample, part[there[_hashes(part)]])
            if found.all():
                return True
    return False


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}").reshape(-1)


def _hashes(bits: NDArray[Any]) -> NDArray[Any]:
    """Return a 16-bit hash of each value."""
    size = 8 * bits.itemsize
    mixed = bits * bits.dtype.type(0x9E3779B97F4A7C15 >> (64 - size) | 1)
    found: NDArray[Any] = mixed >> bits.dtype.type(max(0, size - 16))
    return found


def in_another_order(
    first: Mapping[str, NDArray[Any]], others: Sequence[Mapping[str, NDArray[Any]]]
) -> list[tuple[str, ...]]:
    """Find the buffers whose rows are the same in several runs, but in another order.

    Threads append to these buffers. Buffers whose rows are permuted together form one group.

    Args:
        first: rows of each buffer as bytes, shape (rows, bytes).
        others: the same for other runs.

    Returns:
        Groups of names of buffers.
    """

    def same_rows(names: Sequence[str]) -> bool:
        # Sums do not depend on the order and are fast to compute, so they are compared first.
        return all(
            np.array_equal(first[name].sum(0), one[name].sum(0)) for one in others for name in names
        ) and all(np.array_equal(_in_order(first, names), _in_order(one, names)) for one in others)

    def moved(name: str) -> bool:
        return any(not np.array_equal(first[name], one[name]) for one in others)

    found = [name for name in first if moved(name) and same_rows([name])]
    if len({len(first[name]) for name in found}) == 1 and same_rows(found):
        return [tuple(found)]
    return [(name,) for name in found]


def _in_order(run: Mapping[str, NDArray[Any]], names: Sequence[str]) -> NDArray[Any]:
    joined = np.hstack([run[name] for name in names])
    return sorted_rows([joined.reshape(-1)], joined.shape[1])


def coarsest(element: Element) -> str:
    """Return the least accurate type of the real numbers in an item."""
    kinds = [one.type for one in element.fields] or [element.type]
    return next(kind for kind in ACCURACY if kind in kinds)


def allowed(
    kind: str,
    answers: Sequence[NDArray[Any]],
    pairs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    got: Sequence[Sequence[NDArray[Any]]] = (),
    exact: Sequence[tuple[NDArray[Any], NDArray[Any]]] = (),
) -> Allowed:
    """Compute the tolerance of floating-point results.

    If a launch changes values only a little, as a step of a simulation does, the usual tolerance
    would accept a kernel that does nothing. Then the tolerance is reduced, to zero if necessary.

    Args:
        kind: name of the values' type, such as "float32".
        answers: results of each captured launch.
        pairs: results of a launch, and of a repetition of the same launch.
        got: for each launch, the results of kernels that only copy an input.
        exact: results of a launch, and the same in double precision.
    """
    accuracy = ACCURACY[kind]
    each = [size for size in map(_largest, answers) if size]
    largest = max(each, default=0.0)
    scale = min(largest, _SCALES * min(each, default=0.0))
    absolute = accuracy * scale
    apart = max((_apart(one, other) for one, other in pairs), default=0.0)
    if not apart:
        repeated = (
            "several runs gave the same bits" if pairs else "there is no other run to compare with"
        )
        why = f"{repeated}, so this is what rounding may change"
        told = zip(answers, got, strict=False)
        cases = [[differing(one, other) for other in others] for one, others in told]
        cases = [case for case in cases if any(len(first) for first, _ in case)]
        usual = Allowed(absolute, accuracy, why)
        return _narrow(_widened(usual, exact), NumberType(kind).epsilon, cases)
    why = f"from run to run up to {apart:.1e} apart, where the largest is {largest:.1e}"
    shares = (_apart(one, other) / (_largest(one) or 1.0) for one, other in pairs)
    share = max(accuracy, _MARGIN * max(shares))
    return Allowed(share * scale, share, why)


def _widened(usual: Allowed, exact: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> Allowed:
    """Widen a tolerance by the original's errors, so that a rewrite of the same accuracy passes.

    Args:
        usual: the tolerance.
        exact: answers of the original, and the same in double precision.
    """
    every = []
    for given, precise in (part for pair in exact for part in in_parts(*pair)):
        answers = given.astype(np.float64)
        bound = usual.absolute + usual.relative * np.abs(answers)
        with np.errstate(all="ignore"):
            shares = _TWICE * np.abs(answers - precise) / bound
        every.append(shares[np.isfinite(shares)])
    shares = np.concatenate([*every, np.empty(0)])
    if not shares.size:
        return usual
    most, largest = max(1.0, float(np.percentile(shares, _MOSTLY))), float(shares.max())
    if largest <= 1.0 or most > _WIDEST or largest > _FURTHEST:
        return usual
    outside = _TWICE * float(np.mean(shares > most)) if largest > _TWICE * most else 0.0
    times = most if outside else largest
    why = "its answers are up to half of that away from those in double precision"
    wide = Allowed(times * usual.absolute, times * usual.relative, why)
    return replace(wide, outside=outside, furthest=largest / times) if outside else wide


def _narrow(wide: Allowed, bit: float, cases: Sequence[Sequence[Differing]]) -> Allowed:
    """Reduce a tolerance until it tells answers from unchanged inputs in half of the launches.

    Args:
        wide: the tolerance.
        bit: machine epsilon of the type.
        cases: for each launch, the differences of its answer from each input.
    """
    found = wide
    while not found.tells_most(cases):
        why = "more would hide that a launch did nothing: it changes little"
        found = Allowed(found.absolute / _STEP, found.relative / _STEP, why)
        if found.relative < _LEAST * bit:
            return Allowed(0.0, 0.0, why)
    return found


def _largest(values: NDArray[Any]) -> float:
    largest = 0.0
    for (part,) in in_parts(values):
        found = np.abs(part).max(initial=0)
        if not np.isfinite(found):
            found = np.abs(part[np.isfinite(part)]).max(initial=0)
        largest = max(largest, float(found))
    return largest


def _apart(one: NDArray[Any], other: NDArray[Any]) -> float:
    if one.shape != other.shape:
        return 0.0
    apart = 0.0
    for first, second in in_parts(one, other):
        if np.array_equal(first, second):
            continue
        with np.errstate(all="ignore"):
            found = np.abs(first.astype(np.float64) - second.astype(np.float64))
        apart = max(apart, float(found[np.isfinite(found)].max(initial=0.0)))
    return apart
