"""The search of GEVO with its published parameters.

Liou et al., "GEVO: GPU code optimization using evolutionary computation", TACO 2020, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from gi_cuda.genome import Genotype, Rates
from gi_cuda.genome.variation import ATTEMPTS, cross_values
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import Keys, Member, Mutants, Origin, Recipe, Variation

ELITES = 4
TOURNAMENT = 2
CROSSOVER, MUTATION = 0.8, 0.3
FIRST = 3
"""Number of mutations of each individual of the first generation."""


@dataclass(slots=True)
class Population:
    """The individuals that may have children: all that are right, faster or not.

    GEVO makes a child anew until it is right, so its population is always full. Here the population
    consists of the latest right individuals and the best of all generations.
    """

    elites: list[Member] = field(default_factory=list)
    right: list[Member] = field(default_factory=list)

    def take(self, members: Sequence[Member]) -> None:
        """Add the next generation."""
        right = [one for one in members if one.right]
        self.elites = sorted((*self.elites, *right), key=_fitness)[:ELITES]
        self.right = [*self.right, *right][-PRESET.settings.population :]


def _fitness(member: Member) -> tuple[float, int]:
    return member.median, member.ident


@dataclass(frozen=True, slots=True)
class Messy:
    """One-point messy crossover: the edits of both parents are shuffled, and cut at a random point.

    Values come from either parent. Some children are then mutated.
    """

    first: Member
    second: Member
    mutated: bool
    origin: Origin = field(default=Origin.CROSSOVER, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return (self.first.ident, self.second.ident)

    def make(self, variation: Variation, known: Keys, rng: Random) -> Genotype | None:
        mother, father = self.first.genotype, self.second.genotype
        for _ in range(ATTEMPTS):
            edits = [*mother.edits, *(one for one in father.edits if one not in mother.edits)]
            rng.shuffle(edits)
            values = cross_values(mother.configuration, father.configuration, rng)
            child = Genotype(values, tuple(edits[: rng.randint(0, len(edits))]))
            if values.space.allows(values):
                mutant = variation.mutate(child, rng) if self.mutated else None
                return child if mutant is None else mutant
        return None

    def fallback(self) -> Recipe:
        return Mutants((self.first,), 1)


@dataclass(frozen=True, slots=True)
class Gevo:
    """Tournament selection among right individuals; most children have two parents, some are
    mutated.

    A child that would be neither crossed nor mutated is mutated, since its parent was measured
    already.
    """

    settings: Settings

    def recipes(self, history: History, rng: Random) -> list[Recipe]:
        """Return one recipe for each place in the next generation."""
        found = history.lessons(Population)
        size = self.settings.population
        parents = [*found.elites, *found.right[-size:]]
        if not parents:
            return [Mutants((), FIRST)] * size
        return [self._recipe(parents, rng) for _ in range(size)]

    def _recipe(self, parents: Sequence[Member], rng: Random) -> Recipe:
        first, second = _winner(parents, rng), _winner(parents, rng)
        crossed, mutated = rng.random() < CROSSOVER, rng.random() < MUTATION
        if crossed and first is not second:
            return Messy(first, second, mutated)
        return Mutants((first,), 1)


def _winner(parents: Sequence[Member], rng: Random) -> Member:
    return min((rng.choice(parents) for _ in range(TOURNAMENT)), key=_fitness)


SETTINGS = Settings(
    population=256, generations=300, elite_fraction=ELITES / 256, tries=10, rounds=12, depth=12
)
RATES = Rates(configuration=1 / 7, default=0.2, neighbour=0.5, hidden=0.0, pairs=1 / 3)
"""Mutation rates. GEVO copies, deletes, moves, replaces, swaps and, with ``--edits full`` or on
PTX, replaces operands; two of these six change two rules. It has no parameters; here a change of a
value is a seventh kind."""

PRESET = Preset("gevo", "GEVO's elites, tournaments and messy crossover", Gevo, SETTINGS, RATES)
