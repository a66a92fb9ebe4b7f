"""Tuning: a searcher of :mod:`gi_cuda.tune` chooses the configuration, and code does not change."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.genome.variation import mutate_configuration
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings, Strategy
from gi_cuda.search.recipes import Given, Member, Origin, Recipe, Variation
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind, tell
from gi_cuda.tune.searchers import DEFAULT, find_searcher


@dataclass(frozen=True, slots=True)
class Tuning(Variation):
    """Variation of the configuration alone."""

    code: ClassVar[bool] = False

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """Return a mutant with another value; None if there is no other value."""
        configuration = mutate_configuration(genotype.configuration, rng, self.rates)
        return None if configuration is None else Genotype(configuration, genotype.edits)


class Asked:
    """A searcher with its questions and answers, in the order in which they occurred in a run.

    Args:
        kind: kind of the searcher.
        number: number of points to ask for at a time.
        original: genotype of the reference.
        seed: seed of the run.
    """

    def __init__(self, kind: SearcherKind, number: int, original: Genotype, seed: int) -> None:
        self._edits = original.edits
        self.grid = Grid.of_space(original.configuration.space)
        self._searcher = kind.make(self.grid, random.Random(f"{seed}/{kind.name}"))
        self._searcher.tell(self.grid.point(original.configuration), 1.0)
        self._number = number
        self._asked = self._taken = 0

    def ask(self) -> list[Point]:
        """Return the points of the next cohort."""
        self._asked += 1
        return self._searcher.ask(self._number)

    def take(self, members: Sequence[Member]) -> None:
        """Tell the searcher the cost of a cohort's points.

        In a resumed run, the points are asked for first. Individuals with edits of their own are
        left out: their cost is not that of the configuration.
        """
        if self._asked <= self._taken:
            self.ask()
        self._taken += 1
        for one in members:
            if one.genotype.edits != self._edits:
                continue
            known = one.right and math.isfinite(one.median)
            point = self.grid.point(one.genotype.configuration)
            tell(self._searcher, point, one.median if known else None, one.resources)


@dataclass(frozen=True, slots=True)
class Searched:
    """A strategy that takes all configurations from a searcher."""

    kind: SearcherKind
    settings: Settings

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """Return recipes for the next points of the searcher."""
        return list(_given(self.kind, self.settings.cohort, history))


def _given(kind: SearcherKind, number: int, history: History) -> list[Given]:
    """Return recipes for the next points of a searcher, without edits."""
    original = history.variation.original
    asked = history.lessons(Asked, kind, number, original, history.seed)
    space = original.configuration.space
    configurations = (space.chosen(asked.grid.configuration(point)) for point in asked.ask())
    return [Given(Genotype(one, original.edits), Origin.SEARCH, ()) for one in configurations]


SHARE = 0.25
"""Share of a cohort's places for the searcher, beside a strategy that varies the code."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A strategy that gives some of its places to configurations of a searcher.

    These individuals have no edits. The searcher learns the cost of all individuals without edits,
    and the strategy combines edits and configurations as before.

    Attributes:
        make: makes the strategy from its settings.
        kind: kind of the searcher.
    """

    make: Callable[[Settings], Strategy]
    kind: SearcherKind
    settings: Settings

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        """Return the strategy's recipes, the last of which are replaced by the searcher's."""
        found = self.make(self.settings).recipes(history, rng)
        given = _given(self.kind, math.ceil(SHARE * self.settings.cohort), history)
        kept = max(0, len(found) - len(given))
        others = [*found[kept:], *([None] * len(given))]
        asked = [replace(one, otherwise=other) for one, other in zip(given, others, strict=False)]
        return [*found[:kept], *asked]


def _demand_parameters(kind: SearcherKind, subject: Subject) -> None:
    if subject.compiled:
        raise UserError(
            "to tune varies parameters, which only source has",
            where="--preset",
            hint="choose another preset without a searcher, or leave --level out",
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
"""Beginning of the name of a preset that consists of a searcher, whose name follows."""

BESIDE = "+"
"""Separator of the names of a preset and a searcher that are combined."""


def tunes(name: str) -> bool:
    """Tell whether a preset of this name varies the configuration alone."""
    return name.startswith(PREFIX) or name == PRESET.name


def tuning(kind: SearcherKind) -> Preset:
    """Return the preset of a searcher."""
    return Preset(
        f"{PREFIX}{kind.name}",
        kind.help,
        partial(Searched, kind),
        SETTINGS,
        PAPER,
        Tuning,
        partial(_demand_parameters, kind),
    )


def beside(preset: Preset, kind: SearcherKind) -> Preset:
    """Return a preset that is combined with a searcher for configurations.

    Raises:
        UserError: the preset varies the configuration alone.
    """
    if not preset.variation.code:
        raise UserError(
            f"the preset {preset.name} has a searcher of its own",
            where="--searcher",
            hint=f"leave --searcher out, or type --preset {PREFIX}{kind.name}",
        )
    return replace(
        preset,
        name=f"{preset.name}{BESIDE}{kind.name}",
        strategy=partial(Beside, preset.strategy, kind),
        demand=partial(_demand_both, preset.demand, kind),
    )


def _demand_both(demand: Callable[[Subject], None], kind: SearcherKind, subject: Subject) -> None:
    demand(subject)
    _demand_parameters(kind, subject)


PRESET = replace(
    tuning(find_searcher(DEFAULT, "--preset")),
    name="tune",
    help="the configuration alone, for targets with parameters",
)
