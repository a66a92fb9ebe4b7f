"""Breeding a generation of individuals that are all new, in genotype and in phenotype."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from gi_cuda.search.individuals import Child, FitnessEvaluator, P, Settings
from gi_cuda.search.recipes import Fresh, Recipe, Variation, fill
from gi_cuda.search.tabu import Tabu


@dataclass(frozen=True, slots=True)
class Offspring(Generic[P]):
    """A bred generation.

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

    Children whose phenotype is tabu are dropped and their places filled again by the same recipe,
    then by random mutants, for a bounded number of rounds. No offspring means that the space
    is used up.

    Args:
        first: number of the first new individual.
    """
    places: list[Recipe] = list(recipes)
    children: dict[int, Child] = {}
    prepared: dict[int, P] = {}
    made = genotypic = phenotypic = 0
    ident = first
    for _ in range(settings.rounds):
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
                places.append(recipe.fallback() or Fresh(settings.depth))
            else:
                children[number], prepared[number] = child, made_ready[number]
        if not places:
            break
    return Offspring(children, prepared, made, genotypic, phenotypic)
