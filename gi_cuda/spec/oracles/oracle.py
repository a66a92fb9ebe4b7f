"""All checks of a target together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs


@dataclass(frozen=True, slots=True)
class Reference:
    """What variants are judged against.

    Attributes:
        outputs: outputs of the first reference run.
        prepared: for each check, what it judges against.
    """

    outputs: Outputs
    prepared: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Oracle:
    """All checks of a target. Can be sent to another process."""

    checks: tuple[OutputCheck, ...]

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
        first = {name: np.ascontiguousarray(array) for name, array in runs[0].items()}
        runs = [first, *runs[1:]]
        return Reference(first, tuple(check.prepare(runs) for check in self.checks))

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
        judgements = [
            check.judge(case, outputs, prepared)
            for check, prepared in zip(self.checks, reference.prepared, strict=True)
        ]
        reason = next((one.reason for one in judgements if not one.acceptable), "")
        return Judgement(math.fsum(one.penalty for one in judgements), reason)

    def penalty(self, case: Mapping[str, Any], outputs: Outputs, reference: Reference) -> float:
        """The penalty alone; 0 is acceptable."""
        return self.judge(case, outputs, reference).penalty
