"""Oracles: whether a variant's outputs are acceptable, against stored reference outputs.

An oracle is one check or several, each for some or all of the judged buffers. A penalty of 0 is
acceptable; the checks that compare values give the number of values that are wrong, a Python
check whatever its function says, and anything that cannot be judged gives infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gi_cuda.errors import UserError
from gi_cuda.spec import compare
from gi_cuda.spec.compare import Array, Mask, Spread
from gi_cuda.spec.modules import line_of, load_function

Outputs = Mapping[str, Array]
"""The judged buffers after a launch, by name."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an oracle says: a penalty (0 is acceptable) and, if there is one, why."""

    penalty: float
    reason: str = ""

    @property
    def acceptable(self) -> bool:
        return self.penalty == 0


@dataclass(frozen=True, slots=True)
class Reference:
    """What variants are judged against.

    Attributes:
        outputs: outputs of the first reference run.
        spreads: for buffers that a sigma check judges, mean and deviation over all runs.
        runs: where a Python check asks for several runs, outputs of shape (runs, elements).
    """

    outputs: Outputs
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    runs: Outputs = field(default_factory=dict)


class OutputCheck(Protocol):
    """One way to judge outputs."""

    @property
    def runs(self) -> int:
        """How many reference runs it needs."""

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers it judges; none means all."""

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        """Judge `outputs`, all of which have the type and length of the reference's."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Every value is bit for bit the reference's; one NaN is as good as another."""

    buffers: tuple[str, ...] = ()
    runs: int = 1

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        def wrong(name: str) -> Mask:
            return compare.differing(outputs[name], reference.outputs[name])

        return _count(outputs, _names(self, outputs), wrong, lambda n, i: reference.outputs[n][i])


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Every value a fulfils ``|a - r| <= absolute + relative * |r|`` for the reference's r."""

    absolute: float = 0.0
    relative: float = 0.0
    buffers: tuple[str, ...] = ()
    runs: int = 1

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        def wrong(name: str) -> Mask:
            want = reference.outputs[name]
            return compare.beyond(outputs[name], want, self.absolute, self.relative)

        def expected(name: str, index: int) -> str:
            want = reference.outputs[name][index]
            return f"{want} ± {self.absolute + self.relative * abs(float(want)):g}"

        return _count(outputs, _names(self, outputs), wrong, expected)


@dataclass(frozen=True, slots=True)
class Sigma:
    """Every value lies within ``k`` standard deviations of the mean of several reference runs.

    Attributes:
        absolute: added to the ``k`` standard deviations, for values of little spread.
        outside: share of a buffer's values that may lie further off. Of a million values that are
            right, some lie beyond 3 deviations of ten runs by chance alone. NaN and infinities
            that no reference run has are never among them.
    """

    k: float = 3.0
    runs: int = 10
    absolute: float = 0.0
    outside: float = 0.0
    buffers: tuple[str, ...] = ()

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        def wrong(name: str) -> Mask:
            got = outputs[name]
            mask = compare.outside(got, reference.spreads[name], self.k, self.absolute)
            if self.outside and mask.any() and np.isfinite(got[mask]).all():
                mask &= mask.sum() > self.outside * mask.size
            return mask

        def expected(name: str, index: int) -> str:
            spread = reference.spreads[name]
            limit = self.k * spread.std[index] + self.absolute
            return f"{spread.mean[index]:g} ± {limit:g}"

        return _count(outputs, _names(self, outputs), wrong, expected)


@dataclass(frozen=True, slots=True)
class Python:
    """A function of the target's own: ``penalty(case, outputs, reference)``.

    It gets mappings from names to values: the case's buffers, scalars and extras as they were
    before the launch; the outputs; and the reference's outputs, of shape (runs, elements) where
    it asks for several runs. It returns the penalty, or the penalty and the reason for it.
    """

    file: Path
    function: str
    runs: int = 1
    buffers: tuple[str, ...] = ()

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        function = load_function(self.file, self.function, str(self.file))
        want = reference.runs if self.runs > 1 else reference.outputs
        arguments = [_read_only(values) for values in (case, outputs, want)]
        name = f"{self.file.name}:{self.function}"
        try:
            with np.errstate(all="ignore"):
                return _verdict(function(*arguments), name)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            # A variant's outputs may be any rubbish; what trips over them has judged them.
            at = line_of(error, self.file)
            return Judgement(math.inf, f"{name} failed at {at}: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Oracle:
    """All checks of a target. Can be sent to another process."""

    checks: tuple[OutputCheck, ...]

    @property
    def runs(self) -> int:
        """How many reference runs it needs."""
        return max(check.runs for check in self.checks)

    def reference(self, runs: Sequence[Outputs]) -> Reference:
        """What to judge against, from the outputs of at least `self.runs` reference runs."""
        if len(runs) < self.runs:
            raise ValueError(f"{self.runs} reference runs are needed, not {len(runs)}")
        first = {name: np.ascontiguousarray(array) for name, array in runs[0].items()}
        spreads: dict[str, Spread] = {}
        stacks: dict[str, Array] = {}
        for check in self.checks:
            if check.runs > 1:
                for name in _names(check, first):
                    stacks[name] = np.stack([run[name] for run in runs])
            if isinstance(check, Sigma):
                for name in _names(check, first):
                    spreads[name] = compare.spread(stacks[name])
        keep = any(isinstance(check, Python) and check.runs > 1 for check in self.checks)
        return Reference(first, spreads, stacks if keep else {})

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> Judgement:
        """Judge the outputs of one launch.

        Args:
            case: the case's values by name, as `CaseData.values` gives them.
            outputs: every judged buffer, one-dimensional.
            reference: from `reference`, for the same case.
        """
        outputs = {name: np.ascontiguousarray(array) for name, array in outputs.items()}
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
        verdicts = [check.judge(case, outputs, reference) for check in self.checks]
        reason = next((verdict.reason for verdict in verdicts if not verdict.acceptable), "")
        return Judgement(math.fsum(verdict.penalty for verdict in verdicts), reason)

    def penalty(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> float:
        """The penalty alone; 0 is acceptable."""
        return self.judge(case, outputs, reference).penalty


def _names(check: OutputCheck, outputs: Outputs) -> tuple[str, ...]:
    return check.buffers or tuple(outputs)


def _count(
    outputs: Outputs,
    names: Sequence[str],
    wrong: Callable[[str], Mask],
    expected: Callable[[str, int], object],
) -> Judgement:
    """One penalty point for each wrong value; the reason tells of the first one."""
    total = 0
    reason = ""
    for name in names:
        mask = wrong(name)
        count = int(np.count_nonzero(mask))
        if count and not reason:
            index = int(mask.argmax())
            reason = (
                f"{name}[{index}] is {outputs[name][index]}, expected {expected(name, index)} "
                f"({count} of {mask.size} values wrong)"
            )
        total += count
    return Judgement(float(total), reason)


def _read_only(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, such that a target's function cannot change the arrays among them."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        result[name] = value
    return result


def _verdict(result: Any, name: str) -> Judgement:
    """What a Python check returned, as a verdict; infinity where it makes no sense."""
    reason = ""
    if isinstance(result, tuple) and len(result) == 2:
        result, reason = result
    if isinstance(result, bool | np.bool_):
        # Whether that means good or bad, nobody can tell.
        said = f"{name} returned {bool(result)}; it returns the penalty, 0 is acceptable"
        return Judgement(math.inf, said)
    try:
        penalty = float(result)
    except (TypeError, ValueError):
        return Judgement(math.inf, f"{name} returned {result!r}, not a number")
    if math.isnan(penalty) or penalty < 0:
        return Judgement(math.inf, f"{name} returned {penalty}, not a penalty of 0 or more")
    return Judgement(penalty, "" if penalty == 0 else str(reason) or f"{name} gives {penalty:g}")
