"""Strategies: from an evaluated population to the recipes of the next generation."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.search.individuals import Member, Settings
from gi_cuda.search.recipes import Crossover, Fresh, Mutation, Recipe


@dataclass(frozen=True, slots=True)
class Barracuda:
    """Truncation selection without elitism (Langdon et al., GECCO 2015, section 2.6).

    The best half of the population at most, of those that are correct and faster than the
    reference, become parents; each has one child by mutation and one by crossover; random mutants
    fill the generation up.
    """

    settings: Settings

    def parents(self, members: Sequence[Member]) -> list[Member]:
        """The members that may have children, best first."""
        fit = sorted((m for m in members if m.selectable), key=lambda m: (m.ratio, m.ident))
        return fit[: int(self.settings.population * self.settings.elite_fraction)]

    def recipes(self, members: Sequence[Member], rng: random.Random) -> list[Recipe]:
        """One recipe for every place in the next generation."""
        depth = self.settings.depth
        parents = self.parents(members)
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


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """The baseline that every other strategy must beat: random mutants, no selection."""

    settings: Settings

    def recipes(self, members: Sequence[Member], rng: random.Random) -> list[Recipe]:
        """Random mutants for every place."""
        return [Fresh(self.settings.depth) for _ in range(self.settings.population)]


Strategy = Barracuda | RandomSearch

PRESETS: Mapping[str, Callable[[Settings], Strategy]] = {
    "barracuda": Barracuda,
    "random": RandomSearch,
    "tune": Barracuda,
}
"""Strategies by the name that ``--preset`` takes. ``tune`` varies the configuration alone."""
