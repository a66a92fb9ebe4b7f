"""What measuring a genotype in several builds gave, and what may be concluded from several of them.

Where code comes to lie in a binary changes its speed by some percent, so every source is measured
in several builds, each beside a build of the reference. The builds are what is drawn from in every
bootstrap here: a gain that belongs to the source shows in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gi_cuda.backends.protocol.requests import Sample, Verdict
from gi_cuda.genome import Genotype
from gi_cuda.results.statistics import (
    CONFIDENCE,
    LOOSE,
    central,
    cluster_interval,
    medians,
    ratios,
)

DRAWS = 2000
"""Resamples of a bootstrap."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Reference time over variant time, with its bootstrap 95 % interval; above 1 is faster."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Reading:
    """What one genotype did.

    Attributes:
        builds: for each build its pairs of timed runs, in seconds.
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


class Measurer(Protocol):
    """Whatever can say how genotypes do: workers on a device, or a recording."""

    def __call__(self, genotypes: Sequence[Genotype]) -> list[Reading]:
        """Read genotypes, all compiled in one batch and measured beside the reference."""


def speed_up(builds: Sequence[Sequence[Sample]]) -> SpeedUp:
    """The speed-up that pairs of times show, over all builds.

    The median over builds of each build's median ratio; its interval resamples the builds and,
    within each, the pairs.
    """
    values = [ratios(samples) for samples in builds]
    low, high = cluster_interval(values)
    middle = float(medians(np.array([medians(one) for one in values])))
    return SpeedUp(1 / middle, 1 / high, 1 / low)


def verdict(builds: Sequence[Sequence[Sample]], floor: float) -> Verdict:
    """The verdict on pairs of times in several builds, as certain as that on pairs in one (see
    :func:`gi_cuda.results.statistics.judge`).

    Args:
        floor: noise floor as a fraction.
    """
    values = [ratios(samples) for samples in builds]
    _, high = cluster_interval(values, confidence=CONFIDENCE)
    if high < 1 - floor:
        return Verdict.FASTER
    low, high = cluster_interval(values, confidence=LOOSE)
    if low > 1 + floor:
        return Verdict.SLOWER
    return Verdict.SAME if 1 - floor <= low and high <= 1 + floor else Verdict.UNCERTAIN


def contrast(terms: Sequence[tuple[int, Reading]]) -> SpeedUp:
    """A product of speed-ups and inverse speed-ups of right readings, with its 95 % interval.

    ``contrast([(1, a), (-1, b)])`` says how many times as fast a is as b. The median over builds of
    each build's median ratio; builds are drawn for each reading on its own.

    Args:
        terms: exponents and readings; no reading twice.
    """
    value = -sum(exponent * float(medians(one.logarithms)) for exponent, one in terms)
    drawn = -np.sum([exponent * one.resampled for exponent, one in terms], axis=0)
    low, high = central(drawn, 0.95)
    return SpeedUp(*(float(np.exp(one)) for one in (value, low, high)))


class ReadingCache:
    """Readings by genotype; a genotype that is read again adds to what is known of it.

    Attributes:
        batches: how often the measurer was asked.
        variants: how many genotypes it was asked for in all.
    """

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer
        self._readings: dict[Genotype, Reading] = {}
        self.batches = self.variants = 0

    def __getitem__(self, genotype: Genotype) -> Reading:
        return self._readings[genotype]

    def __contains__(self, genotype: Genotype) -> bool:
        return genotype in self._readings

    def read(self, genotypes: Iterable[Genotype]) -> None:
        """Read genotypes in one batch; those that failed before are not asked for again."""
        wanted = [g for g in dict.fromkeys(genotypes) if g not in self or self[g].right]
        if not wanted:
            return
        for genotype, reading in zip(wanted, self._measurer(wanted), strict=True):
            before = self._readings.get(genotype)
            self._readings[genotype] = before.with_more(reading) if before else reading
        self.batches += 1
        self.variants += len(wanted)

    def read_new(self, genotypes: Iterable[Genotype]) -> None:
        """Read those genotypes in one batch that were not read before."""
        self.read([genotype for genotype in genotypes if genotype not in self])
