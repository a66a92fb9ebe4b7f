"""What strategies deal in: members of a generation, and recipes for the children of the next."""

from __future__ import annotations

import math
import random
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol, TypeAlias

from gi_cuda.genome import Genotype, Rates, crossover, mutate
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Member:
    """An evaluated individual as selection sees it.

    Attributes:
        ident: its number in the run.
        genotype: its genes.
        ratio: its time over the reference's is at most this; infinite where it has none.
        selectable: whether it is certainly faster than the reference.
        right: whether its answers were acceptable.
        median: its measured ratio; infinite where it has none.
        spread: the standard deviation of that; 0 where it is not known.
        parents: the numbers of those that it was made of.
        origin: how it was made.
        resources: registers, spills, shared memory, where the compiler says them.
    """

    ident: int
    genotype: Genotype
    ratio: float
    selectable: bool
    right: bool = False
    median: float = math.inf
    spread: float = 0.0
    parents: tuple[int, ...] = ()
    origin: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)


class Origin(StrEnum):
    """How a child was made."""

    RANDOM = "random"
    MUTATION = "mutation"
    CROSSOVER = "crossover"
    TRIANGULATION = "triangulation"
    SWEEP = "sweep"
    UNION = "union"
    REMOVAL = "removal"
    REPAIR = "repair"
    SEARCH = "search"


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
        return mutate(genotype, self.subject.offered, rng, self.rates)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""
        return crossover(first, second, rng)


class Parent(Protocol):
    """What mutants are made of."""

    @property
    def ident(self) -> int:
        """Its number in the run."""

    @property
    def genotype(self) -> Genotype:
        """Its genes."""


Keys: TypeAlias = Container[bytes]
"""Genotypic tabu keys."""


class Recipe(Protocol):
    """How one place in the next generation is filled."""

    @property
    def parents(self) -> tuple[int, ...]:
        """Their numbers."""

    @property
    def origin(self) -> Origin:
        """What is said of its children."""

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        """A child, or None where there is none.

        Args:
            known: keys of the genotypes that were tried already; a child among them is in vain.
        """

    def fallback(self) -> Recipe | None:
        """What to try where it gives nothing new; None: the place stays empty."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A random mutant of the original.

    It starts with one mutation and gets more while all it comes to is tabu, so that a search which
    has seen every single mutation goes on to pairs.
    """

    depth: int
    parents: tuple[int, ...] = field(default=(), init=False)
    origin: Origin = field(default=Origin.RANDOM, init=False)

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        genotype = variation.original
        for _ in range(self.depth):
            mutant = variation.mutate(genotype, rng)
            if mutant is None:
                return None
            if variation.subject.key(mutant) not in known:
                return mutant
            genotype = mutant
        return genotype  # tabu: another try may go elsewhere

    def fallback(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutant of one parent; if none comes out new, a random mutant."""

    parent: Parent
    depth: int
    origin: Origin = field(default=Origin.MUTATION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.parent.ident,)

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        return variation.mutate(self.parent.genotype, rng)

    def fallback(self) -> Fresh:
        return Fresh(self.depth)


@dataclass(frozen=True, slots=True)
class Mutants:
    """Several mutations of one parent, or of the original where there is none.

    Attributes:
        of: the parent, or nobody.
        count: of mutations.
    """

    of: tuple[Parent, ...]
    count: int

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(one.ident for one in self.of)

    @property
    def origin(self) -> Origin:
        return Origin.MUTATION if self.of else Origin.RANDOM

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        genotype = self.of[0].genotype if self.of else variation.original
        for _ in range(self.count):
            mutant = variation.mutate(genotype, rng)
            if mutant is None:
                return None
            genotype = mutant
        return genotype

    def fallback(self) -> Fresh:
        return Fresh(self.count + 1)


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

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        return variation.crossover(self.first.genotype, self.second.genotype, rng)

    def fallback(self) -> Mutation:
        return Mutation(self.first, self.depth)


@dataclass(frozen=True, slots=True)
class Given:
    """A genotype that is known beforehand; if it is tabu, something else.

    Attributes:
        genotype: the child.
        origin, parents: what is said of it.
        otherwise: what fills its place where it was tried already.
    """

    genotype: Genotype
    origin: Origin
    parents: tuple[int, ...]
    otherwise: Recipe | None = None

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        return None if variation.subject.key(self.genotype) in known else self.genotype

    def fallback(self) -> Recipe | None:
        return self.otherwise
