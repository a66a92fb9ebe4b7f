"""The oracle of a target: all its checks together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gi_cuda.spec.numbers import NumberType, seen
from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs, ValueCheck
from gi_cuda.spec.oracles.compare import Array, Mask
from gi_cuda.spec.oracles.rules import Allowed, Rules, ValueRule

_BLOCK = 1 << 16
"""Items that are processed at a time."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference data against which variants are judged.

    Attributes:
        outputs: outputs of the first reference run.
        prepared: data that each check judges against; see `OutputCheck.prepare`.
        undefined: for each output, the mask of values that are NaN in some reference run. Outputs
            without NaN are left out.
    """

    outputs: Outputs
    prepared: tuple[Any, ...]
    undefined: Mapping[str, Mask]


@dataclass(frozen=True, slots=True)
class Oracle:
    """The oracle of a target. It can be sent to another process.

    Attributes:
        checks: the checks; outputs must pass all of them.
        types: types of buffers of small floats, by name.
    """

    checks: tuple[OutputCheck, ...]
    types: Mapping[str, NumberType] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Number of reference runs that the checks need."""
        return max(check.runs for check in self.checks)

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the extras of the data module that the checks use."""
        return tuple(dict.fromkeys(name for check in self.checks for name in check.uses))

    def reference(self, runs: Sequence[Outputs]) -> Reference:
        """Make the reference data from the outputs of at least `self.runs` reference runs."""
        if len(runs) < self.runs:
            raise ValueError(f"{self.runs} reference runs are needed, not {len(runs)}")
        runs = [self._seen(run) for run in runs]
        first = runs[0]
        prepared = tuple(check.prepare(runs) for check in self.checks)
        return Reference(first, prepared, _undefined(runs))

    def wider(self, times: float) -> Oracle:
        """Return the oracle with all tolerances multiplied by `times`."""
        return replace(self, checks=tuple(check.wider(times) for check in self.checks))

    def rules(self, types: Mapping[str, NumberType]) -> Rules | None:
        """Return rules that compare each value with that of the first reference run.

        Outputs are acceptable if all values obey the rules.

        Args:
            types: types of all judged buffers.

        Returns:
            Rules for each buffer; None if a check does not judge values one by one.
        """
        found: dict[str, tuple[ValueRule, ...]] = {
            name: (ValueRule(Allowed.DEFINED, kind),) if kind.real else ()
            for name, kind in types.items()
        }
        for check in self.checks:
            rules = check.rules(types)
            if rules is None:
                return None
            for name, more in rules.items():
                found[name] += more
        return {name: _without_needless(rules) for name, rules in found.items()}

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        """Judge the outputs of one launch.

        A NaN is wrong if no reference run has one there, even if all checks accept it. Comparisons
        with NaN are never true, so a function that looks for too large values would miss it.

        Args:
            case: the case's values by name, see `CaseData.values`.
            outputs: every judged buffer, one-dimensional.
            reference: result of `reference` for the same case.
        """
        outputs = self._seen(outputs)
        for name, want in reference.outputs.items():
            got = outputs.get(name)
            if got is None:
                return Judgement(math.inf, f"buffer {name} is missing")
            if got.dtype != want.dtype or got.shape != want.shape:
                return Judgement(
                    math.inf,
                    f"buffer {name} is {got.dtype}{list(got.shape)}, "
                    f"expected {want.dtype}{list(want.shape)}",
                )
        judgements = [
            check.judge(case, outputs, prepared)
            for check, prepared in zip(self.checks, reference.prepared, strict=True)
        ]
        reason = next((one.reason for one in judgements if not one.acceptable), "")
        whole = Judgement(math.fsum(one.penalty for one in judgements), reason).in_short()
        return _strange(outputs, reference) if whole.acceptable else whole

    def judge_part(self, name: str, first: int, got: Array, reference: Reference) -> Judgement:
        """Judge a part of one output in which some value breaks the oracle's rules.

        Args:
            name: name of the output.
            first: index of the part's first value.
            got: the part.
            reference: result of `reference`.
        """
        got, part = self._seen({name: got})[name], slice(first, first + got.size)
        want = reference.outputs[name][part]
        told = [
            check.judge_part(name, first, got, want)
            for check in self.checks
            if isinstance(check, ValueCheck) and name in (check.buffers or (name,))
        ]
        undefined = {k: mask[part] for k, mask in reference.undefined.items() if k == name}
        strange = _strange({name: got}, Reference({name: want}, (), undefined), first)
        found = next((one for one in (*told, strange) if not one.acceptable), None)
        return found or Judgement(1.0, f"{name}: a value from {first} on is wrong")

    def _seen(self, outputs: Outputs) -> dict[str, Array]:
        """Convert outputs to the form that checks see: small floats become floats."""
        found = {name: np.ascontiguousarray(array) for name, array in outputs.items()}
        return {
            name: seen(array, self.types[name]) if name in self.types else array
            for name, array in found.items()
        }

    def penalty(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> float:
        """Judge outputs and return the penalty only; 0 is acceptable."""
        return self.judge(case, outputs, reference).penalty


def _without_needless(rules: tuple[ValueRule, ...]) -> tuple[ValueRule, ...]:
    """Leave out the rule `DEFINED` if another rule covers the whole output, and so forbids NaN."""
    whole = any(one.allowed is not Allowed.DEFINED and not one.item for one in rules)
    return tuple(one for one in rules if not (whole and one.allowed is Allowed.DEFINED))


def _undefined(runs: Sequence[Outputs]) -> dict[str, Mask]:
    """Return the mask of values that are NaN in some run, for each output with NaN."""
    found = {}
    for name, first in runs[0].items():
        if first.dtype.kind == "f" and any(_has_nan(run[name]) for run in runs):
            found[name] = np.logical_or.reduce([np.isnan(run[name]) for run in runs])
    return found


def _has_nan(array: Array) -> bool:
    """Tell whether an array has a NaN.

    Bits are compared, which for 16-bit floats takes a tenth of the time of ``np.isnan``.
    """
    bits = np.dtype(f"u{array.itemsize}")
    infinity = np.array(np.inf, array.dtype).view(bits)
    sign = bits.type(1 << (8 * array.itemsize - 1))
    blocks = (array[at : at + _BLOCK].view(bits) & ~sign for at in range(0, array.size, _BLOCK))
    return any(block.max() > infinity for block in blocks)


def _strange(outputs: Outputs, reference: Reference, first: int = 0) -> Judgement:
    """Judge as wrong each NaN at an index where no reference run has one.

    Args:
        outputs: outputs, or parts of them.
        reference: the same parts of the reference.
        first: index of the first value.
    """
    for name, want in reference.outputs.items():
        if want.dtype.kind != "f":
            continue
        mask = np.isnan(outputs[name])
        if name in reference.undefined:
            mask &= ~reference.undefined[name]
        if count := int(np.count_nonzero(mask)):
            index = int(mask.argmax())
            return Judgement(
                float(count),
                f"{name}[{first + index}] is nan, expected {want[index]}"
                f" ({count} of {mask.size} values are nan, and the reference's are not)",
            )
    return Judgement(0.0)
