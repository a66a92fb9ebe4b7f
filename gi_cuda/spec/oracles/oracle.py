"""All checks of a target together."""

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
"""Items that are looked at at a time."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What variants are judged against.

    Attributes:
        outputs: outputs of the first reference run.
        prepared: for each check, what it judges against.
        undefined: for each output where some reference run has a NaN; those without any are not
            there.
    """

    outputs: Outputs
    prepared: tuple[Any, ...]
    undefined: Mapping[str, Mask]


@dataclass(frozen=True, slots=True)
class Oracle:
    """All checks of a target. Can be sent to another process.

    Attributes:
        types: of buffers, by name.
    """

    checks: tuple[OutputCheck, ...]
    types: Mapping[str, NumberType] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """How many reference runs it needs."""
        return max(check.runs for check in self.checks)

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of what the data module returns for the oracle alone."""
        return tuple(dict.fromkeys(name for check in self.checks for name in check.uses))

    def reference(self, runs: Sequence[Outputs]) -> Reference:
        """What to judge against, from the outputs of at least `self.runs` reference runs."""
        if len(runs) < self.runs:
            raise ValueError(f"{self.runs} reference runs are needed, not {len(runs)}")
        runs = [self._seen(run) for run in runs]
        first = runs[0]
        prepared = tuple(check.prepare(runs) for check in self.checks)
        return Reference(first, prepared, _undefined(runs))

    def wider(self, times: float) -> Oracle:
        """The oracle with so many times the tolerance."""
        return replace(self, checks=tuple(check.wider(times) for check in self.checks))

    def rules(self, types: Mapping[str, NumberType]) -> Rules | None:
        """Rules for each value beside that of the first reference run: where all values
        are so, outputs are acceptable. None where a check does not look at values one by one.

        Args:
            types: of all judged buffers.
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

        Whatever the checks make of it, a NaN is wrong where no reference run has one: comparisons
        with it are never true, and so it gets past functions that look for what is too large.

        Args:
            case: the case's values by name, as `CaseData.values` gives them.
            outputs: every judged buffer, one-dimensional.
            reference: from `reference`, for the same case.
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
        """Judge a stretch of one output, of which some value is wrong by the oracle's rules.

        Args:
            first: index of its first value.
            got: the stretch.
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
        """Outputs in types that numpy has."""
        found = {name: np.ascontiguousarray(array) for name, array in outputs.items()}
        return {
            name: seen(array, self.types[name]) if name in self.types else array
            for name, array in found.items()
        }

    def penalty(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> float:
        """The penalty alone; 0 is acceptable."""
        return self.judge(case, outputs, reference).penalty


def _without_needless(rules: tuple[ValueRule, ...]) -> tuple[ValueRule, ...]:
    """Rules without that which others hold as well: all that look at whole outputs refuse a NaN."""
    whole = any(one.allowed is not Allowed.DEFINED and not one.item for one in rules)
    return tuple(one for one in rules if not (whole and one.allowed is Allowed.DEFINED))


def _undefined(runs: Sequence[Outputs]) -> dict[str, Mask]:
    """Where some run has a NaN."""
    found = {}
    for name, first in runs[0].items():
        if first.dtype.kind == "f" and any(_has_nan(run[name]) for run in runs):
            found[name] = np.logical_or.reduce([np.isnan(run[name]) for run in runs])
    return found


def _has_nan(array: Array) -> bool:
    """Tell whether there is one, by bits: of small floats that takes a tenth of the time."""
    bits = np.dtype(f"u{array.itemsize}")
    infinity = np.array(np.inf, array.dtype).view(bits)
    sign = bits.type(1 << (8 * array.itemsize - 1))
    blocks = (array[at : at + _BLOCK].view(bits) & ~sign for at in range(0, array.size, _BLOCK))
    return any(block.max() > infinity for block in blocks)


def _strange(outputs: Outputs, reference: Reference, first: int = 0) -> Judgement:
    """Judge NaN where the reference has none as wrong, even if all checks accept it.

    Args:
        first: index of the first values.
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
