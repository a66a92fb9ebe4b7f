"""How far results may be off: by what differs from run to run of the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.grammar.frontends.cuda.element_types import Element

ACCURACY = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-10}
"""What rounding in another order may change at least, as a share of a value."""

_SMALL = 0.1
"""So much less, as a share of the largest value, is nothing."""

_MARGIN = 4.0
"""How many times what was seen is allowed."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """How far values of a buffer may be off.

    Attributes:
        why: what was seen, a line for people.
    """

    absolute: float
    relative: float
    why: str


def reals(element: Element, values: NDArray[Any]) -> NDArray[Any]:
    """The real numbers in an array: of structs their members."""
    if not element.fields:
        return values
    items = values.reshape(-1, element.parts)
    size = {one.name: np.dtype(one.type).itemsize * one.length for one in element.fields}
    parts = [
        np.ascontiguousarray(items[:, one.at : one.at + size[one.name]]).view(one.type).ravel()
        for one in element.fields
        if one.type in ACCURACY
    ]
    return np.concatenate(parts)


def coarsest(element: Element) -> str:
    """The least accurate of the real numbers in an item."""
    kinds = [one.type for one in element.fields] or [element.type]
    return next(kind for kind in ACCURACY if kind in kinds)


def allowed(
    kind: str,
    answers: Sequence[NDArray[Any]],
    pairs: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> Allowed:
    """How far floating-point results may be off.

    Args:
        kind: numpy's name of a value's type.
        answers: results of each launch that was captured.
        pairs: results of a launch in two runs that gave the kernel the same.
    """
    accuracy = ACCURACY[kind]
    largest = max(map(_largest, answers), default=0.0)
    absolute = accuracy * _SMALL * largest
    if not pairs:
        why = "no two runs gave the kernel the same, so this is what rounding may change"
        return Allowed(absolute, accuracy, why)
    apart = max(_apart(one, other) for one, other in pairs)
    if not apart:
        why = "several runs gave the same bits, so this is what rounding may change"
        return Allowed(absolute, accuracy, why)
    why = f"from run to run up to {apart:.1e} apart, where the largest is {largest:.1e}"
    share = apart / largest if largest else 0.0
    return Allowed(max(absolute, _MARGIN * apart), max(accuracy, _MARGIN * share), why)


def _largest(values: NDArray[Any]) -> float:
    finite = np.abs(values[np.isfinite(values)].astype(np.float64))
    return float(finite.max(initial=0.0))


def _apart(one: NDArray[Any], other: NDArray[Any]) -> float:
    if one.shape != other.shape:
        return 0.0
    with np.errstate(all="ignore"):
        found = np.abs(one.astype(np.float64) - other.astype(np.float64))
    return float(found[np.isfinite(found)].max(initial=0.0))
