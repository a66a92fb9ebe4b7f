"""Presets: a strategy with all of its parameters. Each is a module of :mod:`.strategies`."""

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
    """Parameters of a search.

    Attributes:
        population: number of new individuals in a generation.
        generations: number of generations.
        elite_fraction: largest share of the population that may become parents.
        tries: number of attempts to make a child that is not tabu.
        rounds: number of attempts to fill a generation after phenotypic duplicates were dropped.
        depth: largest number of mutations of a random mutant.
        cohorts: number of cohorts in a generation. With more than one the search is asynchronous: a
            generation's number of individuals is under way at any time. As soon as a cohort's
            number of them is evaluated, the next cohort is bred from all results so far.
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
        """Number of new individuals in a cohort; the last cohort of a generation may have fewer."""
        return -(-self.population // self.cohorts)

    def having(self, population: int | None, generations: int | None, devices: int = 1) -> Settings:
        """Return the settings with a user's values; None keeps a value.

        Args:
            devices: number of measuring devices. By default an asynchronous search has a whole
                population under way for each device.
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
    """Interface of a strategy, which chooses the next cohort from the history."""

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """Return one recipe for each place in the next cohort."""


def _demand_nothing(subject: Subject) -> None:
    """Accept any subject."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A search strategy with all of its parameters.

    Attributes:
        name: name for ``--preset``.
        help: short description.
        strategy: makes the strategy from its settings.
        settings: default settings; a user may change some.
        rates: probabilities of mutations.
        variation: how genotypes vary.
        demand: raises UserError if a subject does not fit the preset.
        edits: default edit set: a name of :data:`gi_cuda.grammar.EDIT_SETS`.
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
        """Return the variation of a subject's genotypes.

        Args:
            original: genotype that the first individuals are mutants of; None for the subject's
                own.
        """
        rates = self.rates
        if rates.pairs is None:
            rates = replace(rates, pairs=subject.front_end.pairs)
        return self.variation(subject, original or subject.original, rates)
