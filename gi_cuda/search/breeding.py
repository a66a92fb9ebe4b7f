"""Breeding of individuals that are new in genotype and in phenotype."""

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
    """The tabu keys of genotypes and phenotypes (128 bits each), and those that are not stored
    yet.
    """

    def __init__(self, genotypes: Iterable[bytes] = (), phenotypes: Iterable[bytes] = ()) -> None:
        self.genotypes = set(genotypes)
        self.phenotypes = set(phenotypes)
        self._new_genotypes: list[bytes] = []
        self._new_phenotypes: list[bytes] = []

    def add_genotype(self, key: bytes) -> bool:
        """Add a genotype's key; return False if it is known already."""
        return _add(key, self.genotypes, self._new_genotypes)

    def add_phenotype(self, key: bytes) -> bool:
        """Add a phenotype's key; return False if it is known already."""
        return _add(key, self.phenotypes, self._new_phenotypes)

    def take_new(self) -> tuple[list[bytes], list[bytes]]:
        """Return the keys of genotypes and phenotypes that were added since the last call."""
        new = (self._new_genotypes, self._new_phenotypes)
        self._new_genotypes, self._new_phenotypes = [], []
        return new

    def drop_new(self) -> None:
        """Remove the keys that were added since the last call of :meth:`take_new`."""
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
    """A new genotype that is not evaluated yet, with its parents' numbers."""

    genotype: Genotype
    key: bytes
    origin: Origin
    parents: tuple[int, ...]


class Prepared(Protocol):
    """Interface of a genotype that is ready for evaluation."""

    @property
    def key(self) -> bytes | None:
        """The tabu key of its phenotype; None if it has no phenotype."""


P = TypeVar("P", bound=Prepared)


class FitnessEvaluator(Protocol[P]):
    """Interface of an evaluator of genotypes."""

    def prepare(self, batch: Mapping[int, Genotype]) -> Mapping[int, P]:
        """Prepare genotypes for evaluation."""

    def evaluate(
        self,
        batch: Mapping[int, P],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, P]],
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Evaluate prepared genotypes; yield the number and the evaluation of each as it is
        finished.

        Args:
            stop: called now and then; if it returns True, the rest is dropped.
            more: called after each record while there is more to come; returns further individuals.
        """


@dataclass(frozen=True, slots=True)
class Offspring(Generic[P]):
    """A bred cohort.

    Attributes:
        children: the new individuals by number.
        prepared: the prepared individuals by number.
        created: number of children that were made, duplicates included.
        genotype_duplicates, phenotype_duplicates: number of tabu children.
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
    """Fill the places of a cohort with individuals that were never tried.

    A child whose phenotype is tabu is dropped and its place filled again. The first time the same
    recipe is used, which may have more to offer; later its fallback, or a random mutant. The number
    of rounds is limited. If there are no children, the search space is used up.

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
    """The result of filling a place: a child or None, and the number of tabu genotypes on the
    way.
    """

    child: Child | None
    recipe: Recipe | None
    duplicates: int


def fill(
    recipe: Recipe, variation: Variation, tabu: Tabu, settings: Settings, rng: random.Random
) -> Attempt:
    """Follow a recipe and its fallbacks until they yield a new genotype.

    The genotype is added to the tabu list at once. ``Attempt.recipe`` is the recipe that succeeded.
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
