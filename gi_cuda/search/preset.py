"""A preset: a strategy with all its numbers. Each is a module of :mod:`.strategies`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from gi_cuda.genome import Genotype, Rates
from gi_cuda.search.history import History
from gi_cuda.search.recipes import Recipe, Variation
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers of a search.

    Attributes:
        population: new individuals in a generation.
        generations: how many generations are bred.
        elite_fraction: share of the population that may become parents at most.
        tries: how often a child is made anew while it comes out tabu.
        rounds: how often a generation is topped up after phenotypic duplicates were dropped.
        depth: most mutations that a random mutant gets.
        cohorts: how many a generation is bred in. With more than one a search is asynchronous: as
            many as a generation has are under way at any time, and as soon as a cohort's number of
            them is evaluated, whichever these are, the next cohort is bred from all that is known.
    """

    population: int
    generations: int
    elite_fraction: float
    tries: int
    rounds: int
    depth: int
    cohorts: int = 1

    @property
    def cohort(self) -> int:
        """New individuals in a cohort; the last one of a generation may have fewer."""
        return -(-self.population // self.cohorts)

    def having(self, population: int | None, generations: int | None, devices: int = 1) -> Settings:
        """These settings with what a user asked for in their place; None: as they are.

        Args:
            devices: that measure. Of itself an asynchronous search has as much under way for each.
        """
        own = self
        if population is None and self.cohorts > 1:
            more = self.population * devices, self.cohorts * devices
            own = replace(self, population=more[0], cohorts=more[1])
        return replace(
            own,
            population=own.population if population is None else population,
            generations=own.generations if generations is None else generations,
        )


class Strategy(Protocol):
    """From what was evaluated to the next cohort, which is a generation as a rule."""

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """One recipe for every place in the next cohort."""


def _demand_nothing(subject: Subject) -> None:
    """Any subject will do."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A way to search, complete with its numbers.

    Attributes:
        name: what ``--preset`` takes.
        help: what it does, in a few words.
        strategy: makes the strategy from its settings.
        settings: its own numbers; a user may ask for others.
        rates: the chances of mutation.
        variation: how genotypes vary.
        demand: raises UserError where a subject is not fit for it.
        edits: what it changes unless a user says otherwise: a name of
            :data:`gi_cuda.grammar.EDIT_SETS`.
    """

    name: str
    help: str
    strategy: Callable[[Settings], Strategy]
    settings: Settings
    rates: Rates
    variation: type[Variation] = Variation
    demand: Callable[[Subject], None] = _demand_nothing
    edits: str = "paper"

    def vary(self, subject: Subject, original: Genotype | None = None) -> Variation:
        """How genotypes of a subject vary.

        Args:
            original: what the first individuals are mutants of; None: the subject's own.
        """
        rates = self.rates
        if rates.pairs is None:
            rates = replace(rates, pairs=subject.front_end.pairs)
        return self.variation(subject, original or subject.original, rates)
