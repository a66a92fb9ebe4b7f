"""Random search: the baseline that every other strategy must beat."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from gi_cuda.search.history import History
from gi_cuda.search.preset import Settings
from gi_cuda.search.recipes import Fresh, Recipe
from gi_cuda.search.strategies import barracuda


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Random mutants, no selection."""

    settings: Settings

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """Return a random mutant for each place."""
        return [Fresh(self.settings.depth) for _ in range(self.settings.population)]


PRESET = replace(
    barracuda.PRESET,
    name="random",
    help="random mutants, no selection",
    strategy=RandomSearch,
)
