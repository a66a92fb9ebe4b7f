"""Readings of genotypes, and a cache of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gi_cuda.genome import Genotype
from gi_cuda.results.speed_up import Reading


class Measurer(Protocol):
    """Interface of a function that reads genotypes: by workers on a device, or from a recording."""

    def __call__(self, genotypes: Sequence[Genotype]) -> list[Reading]:
        """Read genotypes, all compiled in one batch and measured beside the reference."""


class ReadingCache:
    """A cache of readings by genotype; a second reading of a genotype is merged with the first.

    Attributes:
        batches: number of calls of the measurer.
        variants: number of genotypes in all calls together.
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
        """Read genotypes in one batch; genotypes that failed before are not read again."""
        wanted = [g for g in dict.fromkeys(genotypes) if g not in self or self[g].right]
        if not wanted:
            return
        for genotype, reading in zip(wanted, self._measurer(wanted), strict=True):
            before = self._readings.get(genotype)
            self._readings[genotype] = before.with_more(reading) if before else reading
        self.batches += 1
        self.variants += len(wanted)

    def read_new(self, genotypes: Iterable[Genotype]) -> None:
        """Read, in one batch, the genotypes that were not read before."""
        self.read([genotype for genotype in genotypes if genotype not in self])
