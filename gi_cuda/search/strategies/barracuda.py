"""The search of the BarraCUDA experiment (Langdon et al., GECCO 2015, sections 2.5 and 2.6)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from gi_cuda.genome import Rates
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import Crossover, Fresh, Member, Mutation, Recipe


@dataclass(frozen=True, slots=True)
class Barracuda:
    """Truncation selection without elitism.

    At most the best half of the population become parents, if they are correct and faster than the
    reference. Each parent has one child by mutation and one by crossover. Random mutants fill the
    rest of the generation.
    """

    settings: Settings

    def parents(self, members: Sequence[Member]) -> list[Member]:
        """Return the members that may have children, best first."""
        fit = sorted((m for m in members if m.selectable), key=lambda m: (m.ratio, m.ident))
        return fit[: int(self.settings.population * self.settings.elite_fraction)]

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """Return one recipe for each place in the next generation."""
        depth = self.settings.depth
        parents = self.parents(history.latest())
        recipes: list[Recipe] = []
        for parent in parents:
            recipes.append(Mutation(parent, depth))
            mates = [other for other in parents if other is not parent]
            if mates:
                recipes.append(Crossover(parent, rng.choice(mates), depth))
            else:
                recipes.append(Mutation(parent, depth))
        missing = self.settings.population - len(recipes)
        return [*recipes, *(Fresh(depth) for _ in range(missing))]


SETTINGS = Settings(
    population=1000, generations=50, elite_fraction=0.5, tries=10, rounds=12, depth=12
)
PAPER = Rates(configuration=0.5, default=0.2, neighbour=0.5, hidden=0.0, pairs=None)
"""Mutation rates of the paper, section 2.5."""

PRESET = Preset("barracuda", "the paper's selection", Barracuda, SETTINGS, PAPER)
