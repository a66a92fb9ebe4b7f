"""What can be done with genotypes once their rules and their configurations are known."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cached_property

from gi_cuda.genome.genotype import Genotype, key, rule_order
from gi_cuda.genome.notation import read_genotype
from gi_cuda.genome.space import Space
from gi_cuda.genome.variation import crossover
from gi_cuda.grammar import Rules


class Genetics:
    """The part of :class:`~gi_cuda.search.Variation` that is the same at every level.

    Attributes:
        grammar: the rules of what is evolved.
        space: the configurations that there are.
    """

    grammar: Rules
    space: Space

    @cached_property
    def original(self) -> Genotype:
        """The reference's genotype: default configuration, no edits."""
        return Genotype(self.space.default)

    @cached_property
    def order(self) -> Mapping[str, int]:
        """Position of each rule in the grammar."""
        return rule_order(self.grammar.rules)

    def crossover(self, first: Genotype, second: Genotype, rng: random.Random) -> Genotype | None:
        """A child of two, or None where there is none."""
        return crossover(first, second, rng)

    def key(self, genotype: Genotype) -> bytes:
        """The genotypic tabu key."""
        return key(genotype, self.order)

    def read(self, text: str) -> Genotype:
        """The genotype that a text in notation stands for."""
        return read_genotype(text, self.space, self.grammar)
