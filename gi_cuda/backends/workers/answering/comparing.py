"""Compare outputs on substituted inputs with those of the reference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.substitutes import InPlace, Other
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.other_cases import Answers, Changed
from gi_cuda.spec.case_data.other_sizes import OtherCase
from gi_cuda.spec.oracles import Allowed, Outputs, Rules, ValueRule

WIDER = 10.0
"""Multiple of its tolerance that an oracle allows on substituted inputs.

The tolerance was chosen for the case's own numbers. A long sum that a few terms dominate depends
more on the order of additions.
"""

_LITTLE_WIDER = 2.0
"""The multiple for cases of another size, which may have more additions."""

_SAMPLE = 2**20
"""Number of values, about, from which a median is computed; more would take seconds."""

_SOME = 16
"""So many integers differ by chance, where there are as few."""

_LEAST_SCALE = 1e-3
"""Lower limit on the scale of the tolerance, which shrinks with outputs when an input is made a
thousandth."""


def width_of(other: Other) -> float:
    """Return the multiple of its tolerance that an oracle allows."""
    if isinstance(other, OtherCase):
        return 1.0 if other.reseeded else _LITTLE_WIDER
    return 1.0 if isinstance(other, InPlace) else WIDER


def near(runner: CaseRunner, width: float = WIDER) -> Rules | None:
    """Return rules to compare outputs on substituted inputs; None if the oracle has to be asked."""
    return runner.target.oracle.wider(width).rules(runner.types)


def equal(runner: CaseRunner) -> Rules:
    """Return rules that accept equal numbers. Zeros of both signs are equal."""
    return {
        name: (ValueRule(Allowed.NEAR if kind.real else Allowed.UNDEFINED, kind),)
        for name, kind in runner.types.items()
    }


def finite(runner: CaseRunner) -> Rules:
    """Return rules that accept real numbers without an overflow, and equal integers."""
    found: dict[str, tuple[ValueRule, ...]] = {}
    for name, kind in runner.types.items():
        allowed = Allowed.FINITE if kind.dtype.kind == "f" else Allowed.UNDEFINED
        # Of small floats, which lie in memory as integers, no limit is told.
        is_small = kind.real and kind.dtype.kind != "f"
        found[name] = () if is_small else (ValueRule(allowed, kind),)
    return found


def scale_of(given: Answers, found: Answers) -> float:
    """Return the magnitude of the outputs relative to those on the case's own inputs, at most 1."""
    parts = [1.0]
    for name, array in found.outputs.items():
        if array.dtype.kind == "f" and (size := _size(given.outputs[name])):
            parts.append(max(_LEAST_SCALE, _size(array) / size))
    return min(parts)


def _size(array: NDArray[Any]) -> float:
    """Return the median magnitude of the values that are not 0, from a sample of a large array."""
    some = array.reshape(-1)[:: 1 + array.size // _SAMPLE]
    sizes = np.abs(some[np.isfinite(some) & (some != 0)])
    return float(np.median(sizes)) if sizes.size else 0.0


def finite_alike(outputs: Outputs, right: Outputs) -> Outputs:
    """Return outputs, with the reference's values where neither is finite.

    Whether NaN or an infinity results depends on the order of additions.
    """
    return {
        name: np.where(np.isfinite(array) | np.isfinite(right[name]), array, right[name])
        if array.dtype.kind == "f"
        else array
        for name, array in outputs.items()
    }


def why_overflown(found: Outputs, right: Outputs, whole: Collection[str]) -> str:
    """Describe an output value that is not finite while the reference's is, or that is one of many
    integers of which most differ; "" if there is none.

    Most integers differ, for example, if a search for the least number begins at a limit that is
    too low. A few may differ: rounding errors are larger with large numbers.

    Args:
        whole: names of the outputs that are integers.
    """
    for name, array in found.items():
        expected = right[name]
        if array.dtype.kind == "f":
            lost = np.flatnonzero(np.isfinite(expected) & ~np.isfinite(array))
            least = 0
        elif name in whole:
            lost = np.flatnonzero(array != expected)
            least = max(_SOME, array.size // 2)
        else:
            continue
        if lost.size > least:
            at = lost[0]
            return f"{name}[{at}] is {array[at]}, expected {expected[at]}"
    return ""


def why_wrong(
    runner: CaseRunner,
    case: Changed,
    found: Answers,
    runs: Sequence[Answers],
    scale: float = 1.0,
    width: float = WIDER,
) -> str:
    """Return what is wrong with outputs, judged by the reference's runs; "" if nothing is.

    Args:
        scale: magnitude of outputs and tolerance relative to the original case.
        width: multiple of its tolerance that the oracle allows.
    """
    if found.damaged:
        return f"wrote where it must not: {', '.join(found.damaged)}"
    if not found.outputs:
        return ""
    oracle = runner.target.oracle.wider(width)
    scaled = [_times(1 / scale, run.outputs) for run in (found, *runs)]
    verdict = oracle.judge(case.data.values, scaled[0], oracle.reference(scaled[1:]))
    return "" if verdict.acceptable else verdict.reason or "its answers are not acceptable"


def _times(times: float, outputs: Outputs) -> Outputs:
    """Multiply outputs of real numbers by a factor."""
    if times == 1:
        return outputs
    return {
        name: array * array.dtype.type(times) if array.dtype.kind == "f" else array
        for name, array in outputs.items()
    }
