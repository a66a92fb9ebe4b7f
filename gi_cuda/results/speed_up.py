"""Speed-ups, and products of speed-ups, with confidence intervals over several builds.

The placement of code in a binary changes its speed by some percent. So every source is measured in
several builds, each beside a build of the reference. Every bootstrap here resamples builds, because
a gain that belongs to the source shows in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gi_cuda.results.measurement import Sample
from gi_cuda.results.statistics import SHOWN, central, medians, ratios, repeat_interval

REPEATED = 0.98
"""Nominal confidence of intervals that should contain 95 of 100 repeated measurements. It is higher
than 0.95 because other load on the machine changes between sessions, and processes of one hour do
not show that scatter."""

DRAWS = 2000
"""Number of resamples of a bootstrap."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Reference time over variant time, with its 95 % interval; above 1 is faster."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Reading:
    """Timed runs of one genotype in several builds, or the reason why it failed.

    Attributes:
        builds: pairs of timed runs in seconds, for each build and each process that it ran in.
        failure: reason why the genotype is of no use (does not compile, crashes, hangs, is refused
            or is wrong); "" if its answers were right every time.
    """

    builds: tuple[tuple[Sample, ...], ...] = ()
    failure: str = ""

    @property
    def right(self) -> bool:
        """Tell whether the answers were acceptable on every case, every time."""
        return not self.failure

    @cached_property
    def logarithms(self) -> np.ndarray:
        """Logarithm of each build's median ratio variant / reference; shape (builds,)."""
        return np.log([medians(ratios(one)) for one in self.builds])

    @cached_property
    def resampled(self) -> np.ndarray:
        """Medians of the logarithms over resampled builds; shape (DRAWS,).

        The seed is computed from the values, so equal readings give equal resamples.
        """
        values = self.logarithms
        rng = np.random.default_rng(values.view(np.uint64))
        picked = values[rng.integers(0, len(values), size=(DRAWS, len(values)))]
        return medians(picked)

    @cached_property
    def speed_up(self) -> SpeedUp:
        """The speed-up over all builds."""
        return contrast([(1, self)])

    def with_more(self, other: Reading) -> Reading:
        """Merge two readings of one genotype; the result has failed if one of them has."""
        return Reading((*self.builds, *other.builds), self.failure or other.failure)


def speed_up(builds: Sequence[Sequence[Sample]], confidence: float = REPEATED) -> SpeedUp:
    """Return the speed-up over all builds and processes.

    The speed-up is the inverse of the median over builds of each build's median ratio. The interval
    is a prediction interval: it says where the speed-up will lie if all builds are measured again.

    Args:
        builds: pairs of times for each build and process.
        confidence: confidence of the interval.
    """
    values = [ratios(samples) for samples in builds]
    low, high = repeat_interval(values, confidence)
    middle = float(medians(np.array([medians(one) for one in values])))
    return SpeedUp(1 / middle, 1 / high, 1 / low)


def contrast(terms: Sequence[tuple[int, Reading]], confidence: float = SHOWN) -> SpeedUp:
    """Return a product of powers of speed-ups, with its bootstrap interval.

    ``contrast([(1, a), (-1, b)])`` is the speed-up of a over b. Each reading's speed-up comes from
    the median over builds of each build's median ratio. Builds are resampled for each reading
    independently.

    Args:
        terms: pairs of an exponent (1 or -1) and a right reading; no reading twice.
        confidence: confidence of the interval.
    """
    value = -sum(exponent * float(medians(one.logarithms)) for exponent, one in terms)
    drawn = -np.sum([exponent * one.resampled for exponent, one in terms], axis=0)
    low, high = central(drawn, confidence)
    return SpeedUp(*(float(np.exp(one)) for one in (value, low, high)))
