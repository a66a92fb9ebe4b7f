"""How far results may be off: by what differs from run to run of the application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.capture.observed import in_parts
from gi_cuda.grammar.frontends.cuda.element_types import Element
from gi_cuda.init.proposing.buffers import SMALL_ACCURACY
from gi_cuda.spec.numbers import NumberType, seen
from gi_cuda.spec.oracles.unordered import sorted_rows

ACCURACY = {**SMALL_ACCURACY, "float32": 1e-5, "float64": 1e-10}
"""The least that rounding in another order may change, as a share of a value and of the largest:
where large numbers cancel out in a sum, a small one is left with the error of these. With a tenth
of that, no other order of 1024 sums of 8192 terms was right in all of them."""

_MARGIN = 4.0
"""How many times what was seen is allowed."""

_SCALES = 1e3
"""Where the answers of one launch are so many times as large as those of another, what is allowed
is allowed by the smaller ones: it would hide all that the other launch wrote."""

_SEEN = 0.5
"""The share of what a launch changes that has to be told from what it got."""

_STEP = 4.0
"""By how much less is allowed at a time until that is told."""

_MOST = 1 << 16
"""Values of a part of an array that are looked at where more differ."""

Differing = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values of two arrays, in their order."""

_TWICE = 2.0
"""Times the original's own error that a rewrite may differ from the original: a rewrite that is as
accurate may be off by the same amount to the other side."""

_MOSTLY = 95
"""Percentile of the errors that sets the tolerance of most values, if the largest error is more
than twice as large. Then twice the share of the values beyond it may be further off."""

_WIDEST, _FURTHEST = 10.0, 100.0
"""Largest multiples of the usual tolerance, for most values and for the others. Larger errors do
not come from rounding alone, and a tolerance for them would hide faults."""

_SAMPLE, _DIFFERENT = 1 << 12, 64
"""Values of an output that are looked for among a launch's inputs, and how many different ones
there have to be: of a few, such as zeros and ones, all are among anything."""

_LEAST = 2.0
"""Less than so many times what a number's last bit is worth leaves no room for rounding."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """How far values of a buffer may be off.

    Attributes:
        why: what was seen, a line for people.
        outside: share of the values that may be further off.
        furthest: largest multiple of the tolerance that these may be off.
        together: buffers whose rows, taken together, may be in any order.
    """

    absolute: float
    relative: float
    why: str
    together: tuple[str, ...] = ()
    outside: float = 0.0
    furthest: float = 1.0

    @property
    def exact(self) -> bool:
        """Whether not a bit may differ."""
        return not self.absolute and not self.relative

    def tells(self, answer: NDArray[Any], other: NDArray[Any]) -> bool:
        """Whether most of what differs would be noticed."""
        return self._notices(differing(answer, other))

    def _notices(self, differ: Differing) -> bool:
        wanted, given = differ
        with np.errstate(all="ignore"):
            near = np.abs(given - wanted) <= self.absolute + self.relative * np.abs(wanted)
        return bool(np.count_nonzero(~near) >= _SEEN * len(near))

    def tells_most(self, cases: Sequence[Sequence[Differing]]) -> bool:
        """Tell whether that is so in at least half of the launches.

        Args:
            cases: of each launch how its answer differs from each of what it got.
        """
        return 2 * sum(all(map(self._notices, case)) for case in cases) >= len(cases)


def differing(answer: NDArray[Any], other: NDArray[Any]) -> Differing:
    """The values that are not the same in two arrays, of many some from all over them."""
    found = []
    for wanted, given in in_parts(answer, other):
        where = np.flatnonzero((wanted != given) & ~(np.isnan(wanted) & np.isnan(given)))
        where = where[:: 1 + len(where) // _MOST]
        found.append((wanted[where].astype(np.float64), given[where].astype(np.float64)))
    first, second = zip(*found, strict=True) if found else ((np.empty(0),), (np.empty(0),))
    return np.concatenate(first), np.concatenate(second)


def reals(element: Element, values: NDArray[Any]) -> NDArray[Any]:
    """The real numbers in an array, of structs their members, as an oracle sees them."""
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
    """Tell whether all that a launch wrote to a buffer are values that it got, bit for bit: a
    sample of them. It moves or selects values, then, and rounds none.

    Args:
        inputs: buffers of the same type.
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
    """16 bits of each that depend on all its bits, as an index."""
    size = 8 * bits.itemsize
    mixed = bits * bits.dtype.type(0x9E3779B97F4A7C15 >> (64 - size) | 1)
    found: NDArray[Any] = mixed >> bits.dtype.type(max(0, size - 16))
    return found


def in_another_order(
    first: Mapping[str, NDArray[Any]], others: Sequence[Mapping[str, NDArray[Any]]]
) -> list[tuple[str, ...]]:
    """The buffers that hold the same rows in several runs and not in the same order, as threads
    append to them: all of those together whose rows belong together.

    Args:
        first: of each buffer the bytes of its rows, shape (rows, bytes).
        others: the same of other runs.
    """

    def same_rows(names: Sequence[str]) -> bool:
        # Sums are the same in any order, and take no time.
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
    """The least accurate of the real numbers in an item."""
    kinds = [one.type for one in element.fields] or [element.type]
    return next(kind for kind in ACCURACY if kind in kinds)


def allowed(
    kind: str,
    answers: Sequence[NDArray[Any]],
    pairs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    got: Sequence[Sequence[NDArray[Any]]] = (),
    exact: Sequence[tuple[NDArray[Any], NDArray[Any]]] = (),
) -> Allowed:
    """How far floating-point results may be off.

    Where a launch changes little, as a step of a simulation does, what rounding may change in a
    large number hides that it did nothing. Then less is allowed, at last nothing.

    Args:
        kind: a target's name of a value's type.
        answers: results of each launch that was captured.
        pairs: results of a launch and of the same launch made again.
        got: of each launch what would stand there had the kernel passed on what it got.
        exact: results of a launch and those in double precision.
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
    """As much less that what kernels got is told from their answers, in half of the launches.

    Args:
        bit: what the last bit of one is worth.
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
