"""What the search deals in. It knows genotypes and scores, and nothing of what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation


class Origin(StrEnum):
    """How a child was made."""

    RANDOM = "random"
    MUTATION = "mutation"
    CROSSOVER = "crossover"


@dataclass(frozen=True, slots=True)
class Child:
    """A new genotype, not yet evaluated, with its parents' numbers."""

    genotype: Genotype
    key: bytes
    origin: Origin
    parents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """An evaluated individual as selection sees it.

    Attributes:
        ident: its number in the run.
        genotype: its genes.
        ratio: its time over the reference's is at most this; infinite where it has none.
        selectable: whether it may become a parent at all.
    """

    ident: int
    genotype: Genotype
    ratio: float
    selectable: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers of a search.

    Attributes:
        population: new individuals in a generation.
        generations: how many generations are bred.
        elite_fraction: share of the population that may become parents at most.
        tries: how often a child is made anew while it comes out tabu.
        rounds: how often a generation is topped up after phenotypic duplicates were dropped.
        depth: most mutations that a random mutant gets.
    """

    population: int
    generations: int
    elite_fraction: float
    tries: int
    rounds: int
    depth: int

    def having(self, population: int | None, generations: int | None) -> Settings:
        """These settings with what a user asked for in their place; None: as they are."""
        return replace(
            self,
            population=self.population if population is None else population,
            generations=self.generations if generations is None else generations,
        )


class Prepared(Protocol):
    """A genotype made ready to be evaluated."""

    @property
    def key(self) -> bytes | None:
        """Its phenotypic tabu key; None for what has no phenotype at all."""


P = TypeVar("P", bound=Prepared)


class FitnessEvaluator(Protocol[P]):
    """Where genotypes become phenotypes and get their scores."""

    def prepare(self, batch: Mapping[int, Genotype]) -> Mapping[int, P]:
        """Make genotypes ready to be evaluated."""

    def evaluate(
        self, batch: Mapping[int, P], stop: Callable[[], bool]
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Evaluate what was made ready; yields each individual's number and record when it is done.

        Args:
            stop: asked now and then; if true, the rest is left.
        """
