"""What a search has learned about changes: which break, which are harmless, which gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gi_cuda.genome import Edit, Genotype, changes_of
from gi_cuda.genome.genotype import Change
from gi_cuda.grammar import RuleType
from gi_cuda.results.verdict import is_level, is_step
from gi_cuda.search.adaptive.bandit import Bandit
from gi_cuda.search.recipes import Member, Origin, Variation

Arm = tuple[RuleType, type[Edit]]
"""A kind of edit at rules of one type."""

HARMLESS = 0.3
"""The reward of a change that costs nothing, where one that gains has 1."""

KEPT = 200
"""How many of the best are kept at hand."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A right individual with its changes.

    Attributes:
        ident: its number; 0 is what the search began with.
        genotype: of it.
        changes: what it changes of that.
        ratio: its time over the reference's is at most this.
        median: its measured ratio.
    """

    ident: int
    genotype: Genotype
    changes: frozenset[Change]
    ratio: float
    median: float

    @property
    def parents(self) -> tuple[int, ...]:
        """What its children name as their parents."""
        return (self.ident,) if self.ident else ()


@dataclass(slots=True)
class Knowledge:
    """What all generations so far say.

    Attributes:
        variation: how genotypes vary.
        origin: what the search began with.
        tried: changes that were judged alone, or that were harmless beside others.
        harmless: changes that something was not slower with, in the order in which that was found.
        gains: changes that something was faster with, and how many times the time they left.
        kinds, rules: how often edits were harmless or gained, by kind and by rule.
        sizes: how often so many harmless changes were harmless together.
        most: so many at once may be tried: at first eight, then twice as many as were harmless
            together.
        elite: the best that are certainly faster than the reference, best first.
    """

    variation: Variation
    origin: Tried = field(init=False)
    tried: set[Change] = field(default_factory=set)
    harmless: dict[Change, None] = field(default_factory=dict)
    gains: dict[Change, float] = field(default_factory=dict)
    kinds: Bandit[Arm] = field(default_factory=Bandit)
    rules: Bandit[str] = field(default_factory=Bandit)
    sizes: Bandit[int] = field(default_factory=Bandit)
    most: int = 8
    elite: list[Tried] = field(default_factory=list)
    _right: dict[int, Tried] = field(default_factory=dict)

    def __post_init__(self) -> None:
        original = self.variation.original
        self.origin = Tried(0, original, frozenset(changes_of(original)), 1.0, 1.0)

    def take(self, members: Sequence[Member]) -> None:
        """Learn from a generation."""
        for member in members:
            self._learn(member)
        self.elite = sorted(self.elite, key=lambda one: (one.ratio, one.ident))[:KEPT]

    def _learn(self, member: Member) -> None:
        base = self._right.get(member.parents[0], self.origin) if member.parents else self.origin
        changes = frozenset(changes_of(member.genotype))
        added, removed = changes - base.changes, base.changes - changes
        level = member.right and is_level(member.median, base.median)
        step = member.selectable and is_step(member.ratio, base.ratio)
        if member.right:
            tried = Tried(member.ident, member.genotype, changes, member.ratio, member.median)
            self._right[member.ident] = tried
            if member.selectable:
                self.elite.append(tried)
        if member.origin == Origin.UNION:
            size = _ladder(len(added))
            self.sizes.learn(size, float(level))
            self.most = max(self.most, 2 * size if level else 0)
        if len(added) == 1 and not removed:
            (change,) = added
            gain = base.ratio / member.ratio if step else None
            self._judge(change, level=level, gain=gain, alone=base is self.origin)

    def _judge(self, change: Change, *, level: bool, gain: float | None, alone: bool) -> None:
        """Learn of a change that was added to something; what breaks there may not break alone."""
        if gain is not None:
            self.gains[change] = max(gain, self.gains.get(change, 1.0))
        if level or gain is not None:
            self.harmless[change] = None
        if alone or change in self.harmless:
            self.tried.add(change)
        if alone and isinstance(change, Edit):
            reward = 1.0 if gain is not None else HARMLESS if level else 0.0
            self.rules.learn(change.place, reward)
            rule = self.variation.subject.grammar.rule(change.place)
            self.kinds.learn((rule.type, type(change)), reward)

    @property
    def best(self) -> Tried:
        """The one with the fewest changes of those that are as fast as the fastest one."""
        if not self.elite:
            return self.origin
        fastest = min(one.ratio for one in self.elite)
        level = [one for one in self.elite if is_level(one.ratio, fastest)]
        return min(level, key=lambda one: (len(one.changes), one.ratio, one.ident))

    @property
    def rival(self) -> Tried:
        """The best of those that share nothing with the best; what the search began with, if there
        is none."""
        taken = self.best.changes - self.origin.changes
        return next((one for one in self.elite if not one.changes & taken), self.origin)


def _ladder(size: int) -> int:
    """The power of two next to a size, downwards."""
    return 2 ** int(math.log2(size)) if size else 1
