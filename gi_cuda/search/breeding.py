"""Breeding individuals that are all new, in genotype and in phenotype."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.search.preset import Settings
from gi_cuda.search.recipes import Fresh, Origin, Recipe, Variation


class Tabu:
    """Two growing sets of 128-bit keys, and what was added since they were last stored."""

    def __init__(self, genotypes: Iterable[bytes] = (), phenotypes: Iterable[bytes] = ()) -> None:
        self.genotypes = set(genotypes)
        self.phenotypes = set(phenotypes)
        self._new_genotypes: list[bytes] = []
        self._new_phenotypes: list[bytes] = []

    def add_genotype(self, key: bytes) -> bool:
        """Enter a genotype; False where it was there already."""
        return _add(key, self.genotypes, self._new_genotypes)

    def add_phenotype(self, key: bytes) -> bool:
        """Enter a phenotype; False where it was there already."""
        return _add(key, self.phenotypes, self._new_phenotypes)

    def take_new(self) -> tuple[list[bytes], list[bytes]]:
        """Genotypes and phenotypes entered since the last call."""
        new = (self._new_genotypes, self._new_phenotypes)
        self._new_genotypes, self._new_phenotypes = [], []
        return new

    def drop_new(self) -> None:
        """Take out again what was entered since what is new was last taken."""
        genotypes, phenotypes = self.take_new()
        self.genotypes.difference_update(genotypes)
        self.phenotypes.difference_update(phenotypes)


def _add(key: bytes, known: set[bytes], new: list[bytes]) -> bool:
    if key in known:
        return False
    known.add(key)
    new.append(key)
    return True


@dataclass(frozen=True, slots=True)
class Child:
    """A new genotype, not yet evaluated, with its parents' numbers."""

    genotype: Genotype
    key: bytes
    origin: Origin
    parents: tuple[int, ...]


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
        self,
        batch: Mapping[int, P],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, P]],
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Evaluate what was made ready; yields each individual's number and record when it is done.

        Args:
            stop: asked now and then; if true, the rest is left.
            more: asked after each record while there is more to come; what is to be evaluated
                besides, if anything.
        """


@dataclass(frozen=True, slots=True)
class Offspring(Generic[P]):
    """A bred cohort.

    Attributes:
        children: the new individuals by number.
        prepared: what they are evaluated as, likewise.
        created: how many children were made, duplicates included.
        genotype_duplicates, phenotype_duplicates: how many of them were tabu.
    """

    children: Mapping[int, Child]
    prepared: Mapping[int, P]
    created: int
    genotype_duplicates: int
    phenotype_duplicates: int


def breed(
    recipes: Sequence[Recipe],
    variation: Variation,
    evaluator: FitnessEvaluator[P],
    tabu: Tabu,
    settings: Settings,
    rng: random.Random,
    *,
    first: int,
) -> Offspring[P]:
    """Fill every place that can be filled with an individual that was never tried.

    Children whose phenotype is tabu are dropped and their places filled again: once by the same
    recipe, which may have more to give, then by what it falls back to and by random mutants, for a
    bounded number of rounds. No offspring means that the space is used up.

    Args:
        first: number of the first new individual.
    """
    places: list[Recipe] = list(recipes)
    children: dict[int, Child] = {}
    prepared: dict[int, P] = {}
    made = genotypic = phenotypic = 0
    ident = first
    for turn in range(settings.rounds):
        batch: dict[int, tuple[Recipe, Child]] = {}
        for recipe in places:
            attempt = fill(recipe, variation, tabu, settings, rng)
            genotypic += attempt.duplicates
            made += attempt.duplicates
            if attempt.child is None or attempt.recipe is None:
                continue
            made += 1
            batch[ident] = (attempt.recipe, attempt.child)
            ident += 1
        if not batch:
            break
        made_ready = evaluator.prepare({i: child.genotype for i, (_, child) in batch.items()})
        places = []
        for number, (recipe, child) in batch.items():
            phenotype = made_ready[number].key
            if phenotype is not None and not tabu.add_phenotype(phenotype):
                phenotypic += 1
                others = recipe.fallback() or Fresh(settings.depth)
                places.append(others if turn else recipe)
            else:
                children[number], prepared[number] = child, made_ready[number]
        if not places:
            break
    return Offspring(children, prepared, made, genotypic, phenotypic)


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
            genotype = current.make(variation, tabu.genotypes, rng)
            if genotype is None:
                break
            key = variation.subject.key(genotype)
            if tabu.add_genotype(key):
                child = Child(genotype, key, current.origin, current.parents)
                return Attempt(child, current, duplicates)
            duplicates += 1
        current = current.fallback()
    return Attempt(None, None, duplicates)
