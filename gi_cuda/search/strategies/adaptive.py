"""The search of our own: a sweep, unions of what it found, then evolution by what was learned.

It begins with each neighbouring value and each deletion by itself, goes on with what gained or cost
nothing, put together, and looks near the best. The rest of its places are for edits that were never
tried, which a bandit chooses (see ``search/adaptive``), and a few for mutants of the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from random import Random

from gi_cuda.genome import Rates
from gi_cuda.search.adaptive.guided import Guided
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.parts import (
    Choice,
    Maker,
    Together,
    fitting,
    gaining,
    near,
    paying,
    singles,
)
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import Given, Mutants, Origin, Recipe


@dataclass(frozen=True, slots=True)
class Shares:
    """How much there is of each part; 0 switches it off.

    Attributes:
        sweep: share of the places for single deletions and neighbouring values, while there are
            such that were not tried; so for the next three.
        gaining: for unions of what gained.
        near: for what is near the best.
        together: for harmless changes, many at once.
        paying: for those of them that seem to gain most together.
        rival: the chance that something starts from the best that shares nothing with the best.
        guided: the chance that a mutant is one of what has no edits yet, by an edit that a bandit
            chooses among those that were never tried.
        pairs: the chance that such a one is a move or a swap of two rules instead.
    """

    sweep: float
    gaining: float
    near: float
    together: float
    paying: float
    rival: float
    guided: float
    pairs: float


@dataclass(frozen=True, slots=True)
class Adaptive:
    """See the module."""

    settings: Settings
    shares: Shares

    def recipes(self, history: History, rng: Random) -> list[Recipe]:
        """One recipe for every place in the next cohort."""
        knowledge = history.lessons(Knowledge, history.variation, history.seed)
        size, shares = self.settings.cohort, self.shares
        filling = _Filling(history)
        for part, share in ((gaining, shares.gaining), (near, shares.near)):
            places = math.ceil(size * share)
            rivals = int(places * shares.rival)
            for base, count in ((knowledge.best, places - rivals), (knowledge.rival, rivals)):
                maker = Maker(base, self._mutant(knowledge, rng))
                filling.add(part(knowledge, maker, count, rng), count)
        otherwise = self._mutant(knowledge, rng)
        filling.add(_sweep(history, otherwise), int(size * shares.sweep))
        rest = max(0, size - len(filling.recipes))
        unions = [
            self._union(knowledge, choice, rng)
            for choice, share in self._choices.items()
            for _ in range(int(rest * share))
        ]
        mutants = [self._mutant(knowledge, rng) for _ in range(rest - len(unions))]
        return [*filling.recipes[:size], *unions, *mutants]

    @property
    def _choices(self) -> dict[Choice, float]:
        """How unions are put together, and the share of each way."""
        return {fitting: self.shares.together, paying: self.shares.paying}

    def _union(self, knowledge: Knowledge, choice: Choice, rng: Random) -> Recipe:
        base = knowledge.rival if rng.random() < self.shares.rival else knowledge.best
        return Together(knowledge, base, choice, self.settings.depth)

    def _mutant(self, knowledge: Knowledge, rng: Random) -> Recipe:
        if rng.random() < self.shares.guided:
            choices = self._choices
            otherwise: Recipe = Mutants((), 2)
            if any(choices.values()):
                (choice,) = rng.choices([*choices], [*choices.values()])
                otherwise = self._union(knowledge, choice, rng)
            ground = knowledge.origin if rng.random() < self.shares.rival else knowledge.ground
            return Guided(knowledge, ground, otherwise, self.shares.pairs)
        parent = knowledge.rival if rng.random() < self.shares.rival else knowledge.best
        return Mutants((parent,) if parent.ident else (), 1)


def _sweep(history: History, otherwise: Recipe) -> Iterable[Recipe]:
    found = singles(history.variation)
    Random(f"{history.seed}/sweep").shuffle(found)
    # Values are few, and those that a kernel offers gain more often than a deletion does.
    found.sort(key=lambda genotype: bool(genotype.edits))
    return (Given(genotype, Origin.SWEEP, (), otherwise) for genotype in found)


class _Filling:
    """The places that are filled so far, each with what was not tried yet."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._keys: set[bytes] = set()
        self.recipes: list[Recipe] = []

    def add(self, recipes: Iterable[Recipe], places: int) -> None:
        """Add so many of them at most."""
        history, subject = self._history, self._history.variation.subject
        for recipe in recipes:
            if places <= 0:
                return
            assert isinstance(recipe, Given)
            key = subject.key(recipe.genotype)
            if key in history.known or key in self._keys:
                continue
            self._keys.add(key)
            self.recipes.append(recipe)
            places -= 1


SETTINGS = Settings(
    population=256, generations=200, elite_fraction=0.5, tries=10, rounds=12, depth=12, cohorts=4
)
RATES = Rates(configuration=0.05, default=0.2, neighbour=0.5, hidden=0.0, pairs=None)
SHARES = Shares(
    sweep=1.0, gaining=0.1, near=0.05, together=0.15, paying=0.1, rival=0.25, guided=0.9, pairs=0.0
)

PRESET = Preset(
    "adaptive",
    "each neighbouring value and deletion first, then what was good of them together",
    partial(Adaptive, shares=SHARES),
    SETTINGS,
    RATES,
)
