"""The oracle ``sigma``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from gi_cuda.spec.oracles.base import Outputs, ValueCheck
from gi_cuda.spec.oracles.compare import Array, Mask, Spread, besides, outside, spread

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Sigma(ValueCheck):
    """A check that every value is within ``k`` standard deviations of the mean of reference runs.

    Attributes:
        k: number of standard deviations.
        runs: number of reference runs.
        absolute: tolerance that is added to ``k`` standard deviations, for values of little spread.
        outside: share of a buffer's values that may be further off. Of a million right values, some
            are beyond 3 deviations of ten runs by chance. NaN and infinities that no reference run
            has are never allowed.
        buffers: names of the judged buffers; empty: all.
    """

    kind: Literal["sigma"] = field(default="sigma", kw_only=True)
    k: key.NotNegative = 3.0
    runs: key.SeveralRuns = 10
    absolute: key.NotNegative = 0.0
    outside: key.Share = 0.0
    buffers: tuple[str, ...] = ()

    def prepare(self, runs: Sequence[Outputs]) -> dict[str, Spread]:
        """Compute mean and deviation of each buffer over all runs."""
        names = self.buffers or runs[0]
        return {name: spread(np.stack([run[name] for run in runs])) for name in names}

    def wrong(self, got: Array, reference: Spread) -> Mask:
        mask = outside(got, reference, self.k, self.absolute)
        return besides(mask, got, self.outside)

    def expected(self, reference: Spread, index: int) -> object:
        limit = self.k * reference.std[index] + self.absolute
        return f"{reference.mean[index]:g} ± {limit:g}"
