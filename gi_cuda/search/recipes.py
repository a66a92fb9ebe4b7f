"""Members of a generation, and recipes for the children of the next one."""

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
    """An evaluated individual, with the facts that selection uses.

    Attributes:
        ident: its number in the run.
        genotype: its genotype.
        ratio: upper bound of its time over the reference's; infinite if it has none.
        selectable: whether it is certainly faster than the reference.
        right: whether its outputs are acceptable.
        median: its measured ratio; infinite if it has none.
        spread: standard deviation of the measured ratio; 0 if unknown.
        parents: numbers of its parents.
        origin: operator that made it.
        resources: registers, spills and shared memory, if the compiler reports them.
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
    """The operator that made a child."""

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
    """The operators that vary genotypes, in configuration and code.

    Attributes:
        subject: the subject that evolves.
        original: genotype that the first individuals are mutants of; usually the reference's.
        rates: probabilities of mutations.
        code: whether code varies at all.
    """

    code: ClassVar[bool] = True

    subject: Subject
    original: Genotype
    rates: Rates

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """Return a mutant; None if nothing can be changed."""
        return mutate(genotype, self.subject.offered, rng, self.rates)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """Return a child of two genotypes; None if there is none."""
        return crossover(first, second, rng)


class Parent(Protocol):
    """Interface of an individual that can be mutated."""

    @property
    def ident(self) -> int:
        """Its number in the run."""

    @property
    def genotype(self) -> Genotype:
        """Its genotype."""


Keys: TypeAlias = Container[bytes]
"""A set of tabu keys of genotypes."""


class Recipe(Protocol):
    """Interface of a recipe, which fills one place in the next generation."""

    @property
    def parents(self) -> tuple[int, ...]:
        """The numbers of the parents."""

    @property
    def origin(self) -> Origin:
        """The origin of its children."""

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        """Return a child; None if there is none.

        Args:
            known: keys of the genotypes that were tried already; a child among them is useless.
        """

    def fallback(self) -> Recipe | None:
        """Return the recipe to use if this one yields nothing new; None to leave the place
        empty.
        """


@dataclass(frozen=True, slots=True)
class Fresh:
    """A random mutant of the original.

    It has one mutation, and gets more as long as the mutant is tabu. So a search that has seen all
    single mutations goes on to pairs.
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
        return genotype  # tabu: another try may give another mutant

    def fallback(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutant of one parent; if none is new, a random mutant."""

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
    """A child by several mutations of a parent, or of the original.

    Attributes:
        of: the parent; empty for the original.
        count: number of mutations.
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
    """A child of two parents; if none is new, a mutant of the first."""

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
    """A given genotype; if it is tabu, another recipe is used.

    Attributes:
        genotype: the child.
        origin, parents: its origin and the numbers of its parents.
        otherwise: recipe for its place if it was tried already.
    """

    genotype: Genotype
    origin: Origin
    parents: tuple[int, ...]
    otherwise: Recipe | None = None

    def make(self, variation: Variation, known: Keys, rng: random.Random) -> Genotype | None:
        return None if variation.subject.key(self.genotype) in known else self.genotype

    def fallback(self) -> Recipe | None:
        return self.otherwise
