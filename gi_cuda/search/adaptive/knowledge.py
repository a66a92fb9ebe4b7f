"""Knowledge of a search about changes: which ones break programs, are harmless, or gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from gi_cuda.genome import Delete, Edit, Genotype, changes_of
from gi_cuda.genome.genotype import Change
from gi_cuda.genome.space import Setting
from gi_cuda.grammar import RuleType
from gi_cuda.results.verdict import is_level, is_step
from gi_cuda.search.adaptive.bandit import Alike, Bandit
from gi_cuda.search.adaptive.effects import Effects
from gi_cuda.search.adaptive.kinship import Kinship
from gi_cuda.search.adaptive.rivals import Rivals
from gi_cuda.search.adaptive.tried import Tried
from gi_cuda.search.adaptive.untried import Untried
from gi_cuda.search.recipes import Member, Origin, Variation

Arm: TypeAlias = tuple[RuleType, type[Edit]]
"""A kind of edit, at rules of one type."""

HARMLESS = 0.3
"""Reward of a change that costs nothing; a change that gains has reward 1."""

KEPT = 200
"""Number of best individuals that are kept."""

APART = 0.5
"""Probability that a rival is the individual that shares no change with the best; otherwise it is
the best individual of another configuration."""


def place_of(change: Change) -> str:
    """Return the rule that an edit changes, or the parameter that a setting changes."""
    return change.name if isinstance(change, Setting) else change.place


@dataclass(slots=True)
class Knowledge:
    """The knowledge from all generations so far.

    Attributes:
        variation: how genotypes vary.
        seed: seed of the search.
        origin: the individual that the search began with.
        tried: changes that were judged alone, or that were harmless together with others.
        harmless: changes that did not slow some individual down, by place, in the order of
            discovery.
        gains: changes that made some individual faster, each with its largest speedup.
        kinds, rules: success of edits (harmless or gaining), by kind and by rule.
        beside_best, elsewhere: effects of changes in individuals that share changes with the best
            one, and in others.
        sizes: how often unions of harmless changes of a given size were harmless.
        most: largest size of a union: at first eight, then twice the size of the largest harmless
            one.
        elite: the best individuals that are certainly faster than the reference, best first.
        best: the individual with the fewest changes among those that are as fast as the fastest.
        asked: how often a deletion was added by itself to an individual with edits.
        apart: the best individual that shares no change with `best`; `origin` if there is none.
        rivals: the best individual of each configuration.
        idle: number of evaluations since the best individual was last improved.
        kinship: similarity of rules.
        ground: the fastest individual without edits besides those of `origin`. Edits are tried
            there, because code may be compiled only under its values.
    """

    variation: Variation
    seed: int
    origin: Tried = field(init=False)
    tried: set[Change] = field(default_factory=set)
    harmless: dict[str, list[Change]] = field(default_factory=dict)
    gains: dict[Change, float] = field(default_factory=dict)
    kinds: Bandit[Arm] = field(default_factory=Bandit)
    rules: Bandit[str] = field(default_factory=Alike)
    beside_best: Effects = field(default_factory=Effects)
    elsewhere: Effects = field(default_factory=Effects)
    sizes: Bandit[int] = field(default_factory=Bandit)
    most: int = 8
    elite: list[Tried] = field(default_factory=list)
    best: Tried = field(init=False)
    apart: Tried = field(init=False)
    rivals: Rivals = field(default_factory=Rivals)
    asked: Counter[Delete] = field(default_factory=Counter)
    idle: int = 0
    ground: Tried = field(init=False)
    kinship: Kinship = field(init=False)
    _standing: float = 1.0
    _grounds: list[Genotype] = field(default_factory=list)
    _untried: dict[Genotype, Untried] = field(default_factory=dict)
    _right: dict[int, Tried] = field(default_factory=dict)

    def __post_init__(self) -> None:
        original = self.variation.original
        self.kinship = Kinship(self.variation.subject.grammar)
        self.origin = Tried(0, original, frozenset(changes_of(original)), 1.0, 1.0)
        self.best = self.apart = self.origin
        self.rivals.take(self.origin)
        self._settle_on(self.origin)

    def take(self, members: Sequence[Member]) -> None:
        """Learn from a generation."""
        for member in members:
            self._learn(member)
        self.elite = sorted(self.elite, key=lambda one: (one.ratio, one.ident))[:KEPT]
        self.idle += len(members)
        if self.elite:
            before, self.best = self.best, self._best()
            self.apart = self._apart()
            if is_step(self.elite[0].ratio, self._standing):
                self._standing, self.idle = self.elite[0].ratio, 0
            if before is self.origin:
                self.beside_best = self.elsewhere.copy()
            elif not self._is_of(before, self.best):
                self.beside_best, self.elsewhere = self.elsewhere, self.beside_best

    def rival(self, rng: Random) -> Tried:
        """Return an individual to continue from instead of the best one."""
        if rng.random() < APART:
            return self.apart
        gain = math.log(self.ground.ratio / self.best.ratio)
        return self.rivals.drawn(self.best, gain, rng) or self.apart

    def untried(self, ground: Genotype) -> Untried:
        """Return the untried edits for a genotype that has no edits yet."""
        if ground not in self._untried:
            self._untried[ground] = Untried(
                self.variation, ground, self._grounds, self.seed, self.tried
            )
        return self._untried[ground]

    def beside(self, base: Tried) -> Effects:
        """Return the effects of changes that are added to an individual.

        A change that breaks the best individual may be right elsewhere.
        """
        return self.beside_best if self._is_of(base, self.best) else self.elsewhere

    def _is_of(self, one: Tried, other: Tried) -> bool:
        """Tell whether two individuals have changes in common."""
        return not one.changes.isdisjoint(other.changes - self.origin.changes)

    def _best(self) -> Tried:
        fastest = self.elite[0].ratio
        level = [one for one in self.elite if is_level(one.ratio, fastest)]
        return min(level, key=lambda one: (len(one.changes), one.ratio, one.ident))

    def _apart(self) -> Tried:
        apart = (one for one in self.elite if not self._is_of(one, self.best))
        return next(apart, self.origin)

    def _learn(self, member: Member) -> None:
        base = self._right.get(member.parents[0], self.origin) if member.parents else self.origin
        self.rivals.children[base.ident] += 1
        made = changes_of(member.genotype)
        changes = frozenset(made)
        added = [change for change in made if change not in base.changes]
        removed = base.changes - changes
        level = member.right and is_level(member.median, base.median)
        step = member.selectable and is_step(member.ratio, base.ratio)
        if member.right:
            tried = Tried(member.ident, member.genotype, changes, member.ratio, member.median)
            self._right[member.ident] = tried
            if math.isfinite(member.ratio):
                self.rivals.take(tried)
            if member.selectable:
                self.elite.append(tried)
                if self._is_ground(tried) and tried.ratio < self.ground.ratio:
                    self._settle_on(tried)
        if member.origin == Origin.UNION:
            size = _ladder(len(added))
            self.sizes.learn(size, float(level))
            self.most = max(self.most, 2 * size if level else 0)
        if added and not removed:
            self._weigh(added, member, base)
        if len(added) == 1 and not removed:
            (change,) = added
            gain, alone = base.ratio / member.ratio if step else None, self._is_ground(base)
            self._judge(change, level=level, gain=gain, alone=alone)
            if isinstance(change, Delete) and not alone:
                self.asked[change] += 1

    def _weigh(self, added: Sequence[Change], member: Member, base: Tried) -> None:
        """Learn from changes that were added to an individual at once."""
        alone = self._is_ground(base) and len(added) == 1
        for effects in (self.beside_best, self.elsewhere) if alone else (self.beside(base),):
            if member.right:
                effects.gained(added, base.median, member.median)
                if not alone:
                    effects.went_together(added)
            elif all(map(self.is_harmless, added)):  # a change that breaks alone says nothing here
                effects.broke(added)

    def _settle_on(self, ground: Tried) -> None:
        self.ground = ground
        self._grounds.append(ground.genotype)

    def _is_ground(self, one: Tried) -> bool:
        """Tell whether an individual has no edits besides those that the search began with."""
        return one.genotype.edits == self.origin.genotype.edits

    def is_harmless(self, change: Change) -> bool:
        """Tell whether some individual was not slower with a change."""
        return change in self.harmless.get(place_of(change), ())

    def _judge(self, change: Change, *, level: bool, gain: float | None, alone: bool) -> None:
        """Learn from a change that was added by itself; one that breaks there may be right
        elsewhere.
        """
        if gain is not None:
            self.gains[change] = max(gain, self.gains.get(change, 1.0))
        if (level or gain is not None) and not self.is_harmless(change):
            self.harmless.setdefault(place_of(change), []).append(change)
        if alone or self.is_harmless(change):
            self.tried.add(change)
        if alone and isinstance(change, Edit):
            reward = 1.0 if gain is not None else HARMLESS if level else 0.0
            self.rules.learn(change.place, reward)
            rule = self.variation.subject.grammar.rule(change.place)
            self.kinds.learn((rule.type, type(change)), reward)


def _ladder(size: int) -> int:
    """Return the largest power of two that is not above a size."""
    return 2 ** int(math.log2(size)) if size else 1
