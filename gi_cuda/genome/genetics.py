"""What can be done with genotypes once their rules and their configurations are known."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from gi_cuda.genome.genotype import Genotype


class Variation(Protocol):
    """How genotypes vary."""

    @property
    def original(self) -> Genotype:
        """What the first individuals are mutants of: as a rule the reference's genotype."""

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""

    def key(self, genotype: Genotype) -> bytes:
        """The genotypic tabu key."""

    def read(self, text: str) -> Genotype:
        """The genotype that a text in notation stands for; ``str`` gives the text back."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """Variation that begins with a genotype of one's own instead of the reference's."""

    subject: Variation
    original: Genotype

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""
        return self.subject.mutate(genotype, rng)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""
        return self.subject.crossover(first, second, rng)

    def key(self, genotype: Genotype) -> bytes:
        """The genotypic tabu key."""
        return self.subject.key(genotype)

    def read(self, text: str) -> Genotype:
        """The genotype that a text in notation stands for."""
        return self.subject.read(text)
