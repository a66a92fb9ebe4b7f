"""The search of our own: a sweep, unions of what it found, then evolution by what was learned.

It begins with each neighbouring value and each deletion by itself, goes on with what gained or cost
nothing, put together, and looks near the best. The rest of its places are for edits that were never
tried, which a bandit chooses (see ``search/adaptive``), and a few for mutants of the best.
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
"""After so many that did not improve the best, half of what started from it starts elsewhere."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How much there is of each part; 0 switches it off.

    Attributes:
        sweep: share of the places for single deletions and neighbouring values, while there are
            such that were not tried; so for the next four.
        gaining: for unions of what gained.
        near: for what is near the best.
        deleting: for the best with one deletion more that breaks something alone.
        exchanged: for the edits of the best with the values of rivals.
        together: for harmless changes, many at once.
        paying: for those of them that seem to gain most together, once something has gained.
        rival: the chance that something starts from a rival of the best; it grows while the best
            stands still.
        guided: the chance that a mutant is one of what has no edits yet, by an edit that a bandit
            chooses among those that were never tried.
        pairs: the chance that such a one is a move or a swap of two rules instead.
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
    """See the module."""

    settings: Settings
    shares: Shares

    def recipes(self, history: History, rng: Random) -> list[Recipe]:
        """One recipe for every place in the next cohort."""
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
        """What is made of the best or a rival, and the share of each."""
        shares = self.shares
        return {gaining: shares.gaining, near: shares.near, deleting: shares.deleting}

    def _choices(self, knowledge: Knowledge) -> dict[Choice, float]:
        """How unions are put together, and the share of each way. While nothing has gained, nothing
        seems to pay either, and its places are for edits that were never tried."""
        shares, gained = self.shares, knowledge.best is not knowledge.origin
        return {fitting: shares.together, paying: shares.paying if gained else 0.0}

    def _rivalry(self, knowledge: Knowledge) -> float:
        """The chance that something starts from a rival."""
        rival, still = self.shares.rival, knowledge.idle / (knowledge.idle + STILL)
        return rival + (1 - rival) * still if rival else 0.0

    def _base(self, knowledge: Knowledge, rival: Tried, rng: Random) -> Tried:
        return rival if rng.random() < self._rivalry(knowledge) else knowledge.best

    def _union(self, knowledge: Knowledge, choice: Choice, rival: Tried, rng: Random) -> Recipe:
        """A union on the best or a rival; where nothing is left to be added to it, on a rival."""
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
            if knowledge.ground is not knowledge.origin:  # where what it is not offered may be
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
