"""Mutations chosen by the success of kinds of edits and of rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np

from gi_cuda.genome import Genotype
from gi_cuda.genome.edits import Edit
from gi_cuda.genome.variation import draw_pair, mutate_configuration
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.tried import Tried
from gi_cuda.search.recipes import Keys, Origin, Recipe, Variation

FEW = 0.5
"""Exponent of the number of edits at a rule, by which the prospects of each edit are reduced. With
0 all edits would be equally likely to gain, with 1 all rules."""


def drawn(knowledge: Knowledge, ground: Genotype, known: Keys, rng: Random) -> Edit | None:
    """Draw an edit that was never tried; None if all were tried.

    Rule and kind of edit are drawn by their success, the donor at random. A rule with few edits (a
    pragma, a qualifier, launch bounds) comes before one with the same prospects and many edits,
    because its gain is found sooner. A plain mutation draws the rule first, too.

    Args:
        ground: genotype that the edit is added to.
        known: tabu keys of genotypes.
    """
    untried, grammar = knowledge.untried(ground), knowledge.variation.subject.offered
    numbers = np.fromiter(untried.numbers.values(), float)
    for place in knowledge.rules.ranked([*untried.numbers], rng, numbers**-FEW):
        found = {kind: untried.next(place, kind, known) for kind in untried.kinds[place]}
        arms = [(grammar.rule(place).type, kind) for kind, edit in found.items() if edit]
        if arms:
            return found[next(knowledge.kinds.ranked(arms, rng))[1]]
    return None


@dataclass(frozen=True, slots=True)
class Guided:
    """A mutant of a genotype without edits, by an edit that was never tried.

    Attributes:
        knowledge: success of rules and of kinds of edits.
        ground: individual to mutate.
        otherwise: recipe to use if all edits were tried.
        pairs: probability of a move or a swap, which are two edits.
    """

    knowledge: Knowledge
    ground: Tried
    otherwise: Recipe
    pairs: float = 0.0
    origin: Origin = field(default=Origin.MUTATION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return self.ground.parents

    def make(self, variation: Variation, known: Keys, rng: Random) -> Genotype | None:
        genotype = self.ground.genotype
        if not variation.code:
            return variation.mutate(genotype, rng)
        if rng.random() < variation.rates.configuration:
            configuration = mutate_configuration(genotype.configuration, rng, variation.rates)
            if configuration is not None:
                return Genotype(configuration, genotype.edits)
        if self.pairs and rng.random() < self.pairs:
            pair = draw_pair(genotype, variation.subject.offered, rng)
            if pair is not None:
                return Genotype(genotype.configuration, (*genotype.edits, *pair))
        edit = drawn(self.knowledge, genotype, known, rng)
        return None if edit is None else Genotype(genotype.configuration, (*genotype.edits, edit))

    def fallback(self) -> Recipe | None:
        return self.otherwise
