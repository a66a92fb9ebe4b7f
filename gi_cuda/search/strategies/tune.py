"""Tuning: the configuration alone, which a searcher of :mod:`gi_cuda.tune` chooses."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.genome.variation import mutate_configuration
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import Given, Member, Origin, Recipe, Variation
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind, tell
from gi_cuda.tune.searchers import DEFAULT, find_searcher


@dataclass(frozen=True, slots=True)
class Tuning(Variation):
    """The configuration alone varies."""

    code: ClassVar[bool] = False

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant with another value; None where there is no other value."""
        configuration = mutate_configuration(genotype.configuration, rng, self.rates)
        return None if configuration is None else Genotype(configuration, genotype.edits)


class Asked:
    """A searcher with what it was asked and told in a run, in the order in which that happened.

    Args:
        kind: the searcher's.
        number: of points that it is asked for at a time.
        original: what differs from the reference in nothing.
        seed: of the run.
    """

    def __init__(self, kind: SearcherKind, number: int, original: Genotype, seed: int) -> None:
        self._space = original.configuration.space
        self.grid = Grid.of_space(self._space)
        self._searcher = kind.make(self.grid, random.Random(f"{seed}/{kind.name}"))
        self._searcher.tell(self.grid.point(original.configuration), 1.0)
        self._number = number
        self._asked = self._taken = 0

    def ask(self) -> list[Point]:
        """The points of the next cohort."""
        self._asked += 1
        return self._searcher.ask(self._number)

    def take(self, members: Sequence[Member]) -> None:
        """Tell what a cohort's points cost; of a run that is resumed, they are asked for before."""
        if self._asked <= self._taken:
            self.ask()
        self._taken += 1
        for one in members:
            known = one.right and math.isfinite(one.median)
            point = self.grid.point(one.genotype.configuration)
            tell(self._searcher, point, one.median if known else None, one.resources)


@dataclass(frozen=True, slots=True)
class Searched:
    """Configurations that a searcher asks for."""

    kind: SearcherKind
    settings: Settings

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """The points that it asks for next."""
        original = history.variation.original
        asked = history.lessons(Asked, self.kind, self.settings.cohort, original, history.seed)
        space = original.configuration.space
        return [
            Given(
                Genotype(space.chosen(asked.grid.configuration(point)), original.edits),
                Origin.SEARCH,
                (),
            )
            for point in asked.ask()
        ]


def _demand_parameters(kind: SearcherKind, subject: Subject) -> None:
    if subject.compiled:
        raise UserError(
            "to tune varies parameters, and PTX has none",
            where="--preset",
            hint="choose another preset, or leave --level out",
        )
    if not subject.target.parameters:
        raise UserError(
            "there is nothing to tune: the target has no parameters",
            where=str(subject.target.file),
            hint="add a [[parameter]], or choose another --preset",
        )
    kind.demand(Grid.of_space(subject.space))


SETTINGS = Settings(
    population=64, generations=10_000, elite_fraction=1.0, tries=1, rounds=2, depth=12, cohorts=2
)

PREFIX = "tune-"
"""A preset of this beginning is that of the searcher which the rest names."""


def tuning(kind: SearcherKind) -> Preset:
    """The preset of a searcher."""
    return Preset(
        f"{PREFIX}{kind.name}",
        kind.help,
        partial(Searched, kind),
        SETTINGS,
        PAPER,
        Tuning,
        partial(_demand_parameters, kind),
    )


PRESET = replace(
    tuning(find_searcher(DEFAULT, "--preset")),
    name="tune",
    help="the configuration alone, for targets with parameters",
)
