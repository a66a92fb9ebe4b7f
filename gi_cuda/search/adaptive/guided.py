"""Mutations that are drawn by what is known of kinds of edits and of rules."""

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
"""By which power of how many edits a rule is offered one of them is less likely to gain: 0 were all
edits alike, 1 were all rules."""


def drawn(knowledge: Knowledge, ground: Genotype, known: Keys, rng: Random) -> Edit | None:
    """An edit that nothing was tried with: rule and kind by what such edits gave, the donor by
    chance. None where every edit was tried.

    A rule that is offered few edits (a pragma, a qualifier, launch bounds) comes before one with
    as good prospects that is offered many: what gains there is found after a few. That there is
    something at each is as likely for a mutation, which draws the rule first.

    Args:
        ground: that it is to be made to.
        known: genotypic tabu keys.
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
    """A mutant of what has no edits yet, by an edit that nothing was tried with.

    Attributes:
        knowledge: decides between rules and between kinds.
        ground: that is mutated.
        otherwise: what takes its place where everything was tried.
        pairs: the chance that it is a move or a swap, which is two edits.
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
