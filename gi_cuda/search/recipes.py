"""How genotypes vary, and how one place in the next generation is filled."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import ClassVar

from gi_cuda.genome import Genotype, Rates, crossover, mutate
from gi_cuda.search.individuals import Child, Member, Origin, Settings
from gi_cuda.search.tabu import Tabu
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Variation:
    """How the genotypes of a search vary, in configuration and code.

    Attributes:
        subject: what is evolved.
        original: what the first individuals are mutants of: as a rule the reference's genotype.
        rates: the chances of mutation.
        code: whether code varies at all.
    """

    code: ClassVar[bool] = True

    subject: Subject
    original: Genotype
    rates: Rates

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant, or None where nothing can be changed."""
        return mutate(genotype, self.subject.grammar, rng, self.rates)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""
        return crossover(first, second, rng)


@dataclass(frozen=True, slots=True)
class Fresh:
    """A random mutant of the original.

    It starts with one mutation and gets more while all it comes to is tabu, so that a search which
    has seen every single mutation goes on to pairs.
    """

    depth: int
    parents: tuple[int, ...] = field(default=(), init=False)
    origin: Origin = field(default=Origin.RANDOM, init=False)

    def make(self, variation: Variation, tabu: Tabu, rng: random.Random) -> Genotype | None:
        genotype = variation.original
        for _ in range(self.depth):
            mutant = variation.mutate(genotype, rng)
            if mutant is None:
                return None
            if variation.subject.key(mutant) not in tabu.genotypes:
                return mutant
            genotype = mutant
        return genotype  # tabu: another try may go elsewhere

    def fallback(self) -> Fresh | None:
        return None


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutant of one parent; if none comes out new, a random mutant."""

    parent: Member
    depth: int
    origin: Origin = field(default=Origin.MUTATION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.parent.ident,)

    def make(self, variation: Variation, tabu: Tabu, rng: random.Random) -> Genotype | None:
        return variation.mutate(self.parent.genotype, rng)

    def fallback(self) -> Fresh:
        return Fresh(self.depth)


@dataclass(frozen=True, slots=True)
class Crossover:
    """A child of two parents; if none comes out new, a mutant of the first."""

    first: Member
    second: Member
    depth: int
    origin: Origin = field(default=Origin.CROSSOVER, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.first.ident, self.second.ident)

    def make(self, variation: Variation, tabu: Tabu, rng: random.Random) -> Genotype | None:
        return variation.crossover(self.first.genotype, self.second.genotype, rng)

    def fallback(self) -> Mutation:
        return Mutation(self.first, self.depth)


Recipe = Fresh | Mutation | Crossover


@dataclass(slots=True)
class Attempt:
    """What filling one place gave: a child or none, and how many tabu genotypes came up."""

    child: Child | None
    recipe: Recipe | None
    duplicates: int


def fill(
    recipe: Recipe, variation: Variation, tabu: Tabu, settings: Settings, rng: random.Random
) -> Attempt:
    """Follow a recipe until a genotype comes out that was never tried, or nothing is left to try.

    The genotype is entered in the tabu list at once. ``Attempt.recipe`` is the one that worked.
    """
    duplicates = 0
    current: Recipe | None = recipe
    while current is not None:
        for _ in range(settings.tries):
            genotype = current.make(variation, tabu, rng)
            if genotype is None:
                break
            key = variation.subject.key(genotype)
            if tabu.add_genotype(key):
                child = Child(genotype, key, current.origin, current.parents)
                return Attempt(child, current, duplicates)
            duplicates += 1
        current = current.fallback()
    return Attempt(None, None, duplicates)
