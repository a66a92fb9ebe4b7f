"""The default search: a sweep, unions of its results, then evolution guided by what was learned.

It begins with each neighbouring value and each deletion by itself. Then it combines changes that
gained or cost nothing, and tries neighbours of the best individual. The other places are for edits
that were never tried, which a bandit chooses (see ``search/adaptive``), and for a few mutants of
the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

from gi_cuda.genome import Rates
from gi_cuda.search.adaptive.guided import Guided
from gi_cuda.search.adaptive.ideas import idea_genotypes
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.parts import (
    Choice,
    Maker,
    Part,
    Together,
    deleting,
    exchanged,
    fitting,
    gaining,
    is_first,
    near,
    paying,
    singles,
)
from gi_cuda.search.adaptive.tried import Tried
from gi_cuda.search.history import History
from gi_cuda.search.preset import Preset, Settings
from gi_cuda.search.recipes import Fresh, Given, Mutants, Mutation, Origin, Recipe

STILL = 2048
"""Number of individuals without an improvement after which half of the recipes that would start
from the best one start from a rival."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of the parts of a cohort; 0 switches a part off.

    Attributes:
        sweep: share of places for single deletions and neighbouring values that were not tried.
        gaining: share of places for unions of changes that gained.
        near: share of places for neighbours of the best.
        deleting: share of places for the best with one more deletion, which breaks a program alone.
        exchanged: share of places for the edits of the best with the values of rivals.
        together: share of the remaining places for unions of many harmless changes.
        paying: share of the remaining places for unions that seem to gain most, once there is a
            gain.
        rival: probability to start from a rival of the best; it grows while the best stands still.
        guided: probability that a mutant is made from a genotype without edits, by an edit that a
            bandit chooses among those that were never tried.
        pairs: probability that this mutant is a move or a swap of two rules instead.
    """

    sweep: float
    gaining: float
    near: float
    deleting: float
    exchanged: float
    together: float
    paying: float
    rival: float
    guided: float
    pairs: float


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The strategy of the preset ``adaptive``; see the module."""

    settings: Settings
    shares: Shares

    def recipes(self, history: History, rng: Random) -> list[Recipe]:
        """Return one recipe for each place in the next cohort."""
        knowledge = history.lessons(Knowledge, history.variation, history.seed)
        size, shares = self.settings.cohort, self.shares
        filling = _Filling(history)
        rival = knowledge.rival(rng)
        for part, share in self._parts.items():
            places = math.ceil(size * share)
            elsewhere = int(places * self._rivalry(knowledge))
            for base, count in ((knowledge.best, places - elsewhere), (rival, elsewhere)):
                maker = Maker(base, self._mutant(knowledge, rival, rng))
                filling.add(part(knowledge, maker, count, rng), count)
        otherwise = self._mutant(knowledge, rival, rng)
        places = math.ceil(size * shares.exchanged)
        rivals = (knowledge.rival(rng) for _ in range(2 * places))
        filling.add(exchanged(knowledge.best, rivals, otherwise), places)
        filling.add(_sweep(history, otherwise), int(size * shares.sweep))
        rest = max(0, size - len(filling.recipes))
        unions = [
            self._union(knowledge, choice, rival, rng)
            for choice, share in self._choices(knowledge).items()
            for _ in range(int(rest * share))
        ]
        mutants = [self._mutant(knowledge, rival, rng) for _ in range(rest - len(unions))]
        return [*filling.recipes[:size], *unions, *mutants]

    @property
    def _parts(self) -> Mapping[Part, float]:
        """The generators of recipes from the best or a rival, each with its share."""
        shares = self.shares
        return {gaining: shares.gaining, near: shares.near, deleting: shares.deleting}

    def _choices(self, knowledge: Knowledge) -> dict[Choice, float]:
        """Return the ways to select unions, each with its share.

        Before the first gain no union seems to pay, so these places go to edits that were never
        tried.
        """
        shares, gained = self.shares, knowledge.best is not knowledge.origin
        return {fitting: shares.together, paying: shares.paying if gained else 0.0}

    def _rivalry(self, knowledge: Knowledge) -> float:
        """Return the probability to start from a rival."""
        rival, still = self.shares.rival, knowledge.idle / (knowledge.idle + STILL)
        return rival + (1 - rival) * still if rival else 0.0

    def _base(self, knowledge: Knowledge, rival: Tried, rng: Random) -> Tried:
        return rival if rng.random() < self._rivalry(knowledge) else knowledge.best

    def _union(self, knowledge: Knowledge, choice: Choice, rival: Tried, rng: Random) -> Recipe:
        """Return a union on the best or a rival; if nothing can be added to it, on a rival."""
        base = self._base(knowledge, rival, rng)
        otherwise: Recipe = Fresh(self.settings.depth)
        if rival.ident:
            otherwise = Mutation(rival, self.settings.depth)
        if rival is not base:
            otherwise = Together(knowledge, rival, choice, otherwise)
        return Together(knowledge, base, choice, otherwise)

    def _mutant(self, knowledge: Knowledge, rival: Tried, rng: Random) -> Recipe:
        if rng.random() < self.shares.guided:
            choices = self._choices(knowledge)
            otherwise: Recipe = Mutants((), 2)
            if any(choices.values()):
                (choice,) = rng.choices([*choices], [*choices.values()])
                otherwise = self._union(knowledge, choice, rival, rng)
            if knowledge.ground is not knowledge.origin:  # which may offer other edits
                otherwise = Guided(knowledge, knowledge.origin, otherwise, self.shares.pairs)
            return Guided(knowledge, knowledge.ground, otherwise, self.shares.pairs)
        parent = self._base(knowledge, rival, rng)
        return Mutants((parent,) if parent.ident else (), 1)


def _sweep(history: History, otherwise: Recipe) -> Iterable[Recipe]:
    found = singles(history.variation)
    Random(f"{history.seed}/sweep").shuffle(found)
    found.sort(key=lambda genotype: not is_first(genotype, history.variation))
    found = [*idea_genotypes(history.variation), *found]
    return (Given(genotype, Origin.SWEEP, (), otherwise) for genotype in found)


class _Filling:
    """The recipes for the places filled so far; all of their genotypes are new."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._keys: set[bytes] = set()
        self.recipes: list[Recipe] = []

    def add(self, recipes: Iterable[Recipe], places: int) -> None:
        """Add at most `places` of the recipes."""
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
    population=128, generations=400, elite_fraction=0.5, tries=10, rounds=12, depth=12, cohorts=2
)
RATES = Rates(configuration=0.05, default=0.2, neighbour=0.5, hidden=0.0, pairs=None)
SHARES = Shares(
    sweep=1.0,
    gaining=0.1,
    near=0.05,
    deleting=0.05,
    exchanged=0.05,
    together=0.15,
    paying=0.1,
    rival=0.25,
    guided=0.9,
    pairs=0.0,
)

PRESET = Preset(
    "adaptive",
    "each transformation, value and deletion by itself first, then what was good of them together",
    partial(Adaptive, shares=SHARES),
    SETTINGS,
    RATES,
    edits="transforms",
)
