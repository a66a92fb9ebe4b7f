"""The search of Paraiso, in which every individual that was ever measured may be a parent.

There are no generations: whenever a few individuals are measured, a few more are bred from all
results so far. Muranushi, "Paraiso: an automated tuning framework for explicit solvers of partial
differential equations", Computational Science & Discovery 5, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from gi_cuda.genome import Genotype, Rates, changes_of, with_changes
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import (
    Crossover,
    Fresh,
    Keys,
    Member,
    Mutants,
    Origin,
    Recipe,
    Variation,
)

HOTTEST = 2.0
"""Logarithm of the ratio of the highest temperature to the best score."""

WARMING, WARMINGS = 1.2, 100
"""Factor by which the temperature rises if a parent is drawn again, and the number of attempts."""

MUTATIONS = 12
"""Largest number of mutations of a mutant; the logarithm of the number is uniformly distributed."""


@dataclass(slots=True)
class Everyone:
    """All right individuals. The score of an individual is its speedup over the reference."""

    members: list[Member] = field(default_factory=list)
    best: Member | None = None

    def take(self, members: Sequence[Member]) -> None:
        """Add the next individuals."""
        self.members += [one for one in members if one.right and math.isfinite(one.median)]
        self.best = min(self.members, key=lambda one: (one.median, one.ident), default=None)


def score(member: Member) -> float:
    """Return the speedup of an individual, which is to be maximized."""
    return 1 / member.median


def deviation(member: Member) -> float:
    """Return the standard deviation of the score."""
    return member.spread / member.median**2


class Draw:
    """A random choice of parents at a temperature: the higher it is, the less scores count.

    Uncertain scores count even less.

    Args:
        everyone: individuals that may be drawn.
        best: the individual with the best score.
    """

    def __init__(self, everyone: Sequence[Member], best: Member) -> None:
        self._everyone = everyone
        self._top, self._error = score(best), max(deviation(best), 1e-6)
        self._less = self._top - np.array([score(one) for one in everyone])
        self._blur = self._error + np.array([deviation(one) for one in everyone])

    def temperature(self, rng: Random) -> float:
        """Return a random temperature with a uniform logarithm, at least the error of the best
        score.
        """
        low, high = math.log(self._error), math.log(self._top) + HOTTEST
        return math.exp(low + rng.random() * (high - low))

    def parents(self, count: int, rng: Random) -> list[Member]:
        """Return up to `count` different parents, drawn at one temperature."""
        found: list[Member] = []
        temperature = self.temperature(rng)
        chance = np.random.default_rng(rng.getrandbits(64))
        for _ in range(min(count, len(self._everyone))):
            for _ in range(WARMINGS):
                one = self._one(temperature, chance)
                if one not in found:
                    found.append(one)
                    break
                temperature *= WARMING
        return found

    def _one(self, temperature: float, chance: np.random.Generator) -> Member:
        warmth = temperature + self._blur
        envy = np.minimum(1.0, 10 * (self._less + self._blur) / warmth)
        drawn = chance.random(len(self._everyone)) * np.exp(-self._less / warmth) * envy
        return self._everyone[int(np.argmax(drawn))]


@dataclass(frozen=True, slots=True)
class Triangulation:
    """A child of three parents.

    If the worst two differ in a change, the child follows the better one of these two; else it
    follows the best.
    """

    worst: Member
    middle: Member
    best: Member
    origin: Origin = field(default=Origin.TRIANGULATION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.worst.ident, self.middle.ident, self.best.ident)

    def make(self, variation: Variation, known: Keys, rng: Random) -> Genotype | None:
        ways = (self.worst, self.middle, self.best)
        worst, middle, best = (changes_of(one.genotype) for one in ways)
        chosen = [
            one
            for one in dict.fromkeys((*best, *middle, *worst))
            if (one in middle if (one in middle) != (one in worst) else one in best)
        ]
        return with_changes(Genotype(variation.original.configuration.space.default), chosen)

    def fallback(self) -> Recipe:
        return Mutants((self.best,), 1)


@dataclass(frozen=True, slots=True)
class Paraiso:
    """The strategy of Paraiso: mutation, crossover and triangulation, a third each."""

    settings: Settings

    def recipes(self, history: History, rng: Random) -> list[Recipe]:
        """Return one recipe for each place in the next cohort."""
        found, places = history.lessons(Everyone), self.settings.cohort
        if found.best is None:
            return [Fresh(self.settings.depth)] * places
        draw = Draw(found.members, found.best)
        return [self._recipe(draw, rng) for _ in range(places)]

    def _recipe(self, draw: Draw, rng: Random) -> Recipe:
        parents = draw.parents(rng.randint(1, 3), rng)
        if len(parents) == 3:
            best, middle, worst = sorted(parents, key=lambda one: (one.median, one.ident))
            return Triangulation(worst, middle, best)
        if len(parents) == 2:
            first, second = parents
            return Crossover(first, second, self.settings.depth)
        return Mutants((parents[0],), math.ceil(math.exp(rng.random() * math.log(MUTATIONS))))


SETTINGS = Settings(
    population=128, generations=400, elite_fraction=1.0, tries=10, rounds=12, depth=12, cohorts=4
)
RATES = Rates(configuration=0.5, default=0.2, neighbour=0.5, hidden=0.0, pairs=None)

PRESET = Preset(
    "paraiso",
    "Paraiso's draw of parents from all that was measured, without generations",
    Paraiso,
    SETTINGS,
    RATES,
)
