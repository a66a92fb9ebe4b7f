"""What measuring a genotype in several builds gave, and what may be concluded from several of them.

Where code comes to lie in a binary changes its speed by some percent, so every source is measured
in several builds, each beside a build of the reference. The builds are what is drawn from in every
bootstrap here: a gain that belongs to the source shows in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gi_cuda.results.measurement import Sample
from gi_cuda.results.statistics import SHOWN, central, medians, ratios, repeat_interval

REPEATED = 0.98
"""The confidence of intervals that are to hold in 95 of 100 cases what is measured at another time:
what else a machine does then is another, and processes of one hour do not show that."""

DRAWS = 2000
"""Resamples of a bootstrap."""


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
    """What one genotype did.

    Attributes:
        builds: for each build, and each process that it ran in, its pairs of timed runs, seconds.
        failure: why it is of no use: it does not compile, crashes, hangs, is refused or wrong;
            "" where its answers were right every time.
    """

    builds: tuple[tuple[Sample, ...], ...] = ()
    failure: str = ""

    @property
    def right(self) -> bool:
        """Whether its answers were acceptable everywhere and every time."""
        return not self.failure

    @cached_property
    def logarithms(self) -> np.ndarray:
        """For each build the logarithm of its median ratio, variant / reference; shape (builds,)"""
        return np.log([medians(ratios(one)) for one in self.builds])

    @cached_property
    def resampled(self) -> np.ndarray:
        """Medians of the logarithms over resampled builds; shape (DRAWS,).

        What is drawn depends on the values alone, so that a reading agrees with itself.
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
        """Both readings of the same genotype as one; what failed once has failed."""
        return Reading((*self.builds, *other.builds), self.failure or other.failure)


def speed_up(builds: Sequence[Sequence[Sample]], confidence: float = REPEATED) -> SpeedUp:
    """The speed-up that pairs of times show, over all builds and processes.

    The median of each one's median ratio; its interval says where that will lie if all of them are
    measured again.

    Args:
        confidence: of the interval.
    """
    values = [ratios(samples) for samples in builds]
    low, high = repeat_interval(values, confidence)
    middle = float(medians(np.array([medians(one) for one in values])))
    return SpeedUp(1 / middle, 1 / high, 1 / low)


def contrast(terms: Sequence[tuple[int, Reading]], confidence: float = SHOWN) -> SpeedUp:
    """A product of speed-ups and inverse speed-ups of right readings, with its interval.

    ``contrast([(1, a), (-1, b)])`` says how many times as fast a is as b. The median over builds of
    each build's median ratio; builds are drawn for each reading on its own.

    Args:
        terms: exponents and readings; no reading twice.
        confidence: of the interval.
    """
    value = -sum(exponent * float(medians(one.logarithms)) for exponent, one in terms)
    drawn = -np.sum([exponent * one.resampled for exponent, one in terms], axis=0)
    low, high = central(drawn, confidence)
    return SpeedUp(*(float(np.exp(one)) for one in (value, low, high)))
