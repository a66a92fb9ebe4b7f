"""Landscapes: a synthetic time for each variant of the benchmark's target, with planted
improvements.

The space is that of a real source, and most of its edits behave as in reality. Four in ten edits
break the program, more of them at some rules than at others. Most others change nothing, some slow
it down, and now and then two harmless ones break it together. Only planted improvements gain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from gi_cuda.genome import Genotype
from gi_cuda.genome.edits import EDIT_KINDS, Delete, Edit, Insert, Replace
from gi_cuda.genome.space import Setting
from gi_cuda.genome.variation import draw_pair
from gi_cuda.grammar import RuleType
from gi_cuda.grammar.rule_types import type_of
from gi_cuda.subject import Subject

SLOWER, CLASH = 0.2, 0.003
"""Shares of right edits that slow down, and of pairs of right edits that break together."""

IDLE, VITAL = 0.15, 0.85
"""Smallest and largest share of a rule's edits that break the program."""

SETTING_BREAKS = 0.2

FOUND = 0.9
"""Share of the planted gain (as a logarithm) from which on the improvement counts as found."""


class Effect(NamedTuple):
    """The effect of a genotype at one place; variants with equal effects are the same.

    Attributes:
        place: a rule, or the name of a parameter.
        how: ``body``, ``before`` or ``value``.
        text: the new text.
    """

    place: str
    how: str
    text: str


class Plant(NamedTuple):
    """A planted improvement: variants with all of its effects are faster.

    Attributes:
        effects: all of them are needed.
        ratio: time with the effects over time without; below 1 is faster.
        spoils: effects that break the program together with these.
        needy: the effects that break the program without all the others.
    """

    effects: frozenset[Effect]
    ratio: float
    spoils: frozenset[Effect] = frozenset()
    needy: frozenset[Effect] = frozenset()


@dataclass(frozen=True)
class Landscape:
    """True times of the variants of a subject.

    Attributes:
        subject: gives the space.
        seed: decides all but the planted improvements.
        plants: the improvements.
    """

    subject: Subject
    seed: int
    plants: tuple[Plant, ...] = ()

    def ratio(self, effects: frozenset[Effect]) -> float | None:
        """Return the true ratio of a variant's time to the reference's; None if it is wrong."""
        rest, ratio = set(effects), 1.0
        for plant in self.plants:
            rest -= plant.effects
            if plant.effects <= effects:
                ratio *= plant.ratio
            elif plant.needy & effects:
                return None
        free = sorted(rest)  # in this order: a product depends on it in its last digit
        for effect in free:
            found = self.alone(effect)
            if found is None:
                return None
            ratio *= found
        if any(plant.effects & effects and plant.spoils & effects for plant in self.plants):
            return None
        if any(self._chance("clash", *a, *b) < CLASH for a in free for b in free if a < b):
            return None
        return ratio

    def alone(self, effect: Effect) -> float | None:
        """Return the time factor of an effect that is not planted; None if it breaks programs."""
        breaks = SETTING_BREAKS
        if effect.how != "value":
            breaks = self.breaking(effect.place)
        if self._chance("breaks", *effect) < breaks:
            return None
        if self._chance("slower", *effect) < SLOWER:
            return 1.02 + 0.3 * self._chance("how much", *effect)
        return 1.0

    def breaking(self, rule: str) -> float:
        """Return the share of a rule's edits that break the program."""
        return IDLE + (VITAL - IDLE) * self._chance("rule", rule) ** 1.5

    def _chance(self, *words: str) -> float:
        text = "\0".join((str(self.seed), *words))
        return xxh3_64_intdigest(text.encode("utf-8", "surrogateescape")) / 2**64

    def share(self, ratio: float) -> float:
        """Return the share of the best possible gain that a ratio is, in logarithms.

        It is 0 if nothing is planted.
        """
        return max(0.0, math.log(ratio) / self.most) if self.plants else 0.0

    @cached_property
    def most(self) -> float:
        """Return the logarithm of the best ratio; of plants that spoil each other the best one
        counts.
        """
        apart = [plant for plant in self.plants if plant.spoils]
        kept = [math.log(plant.ratio) for plant in self.plants if plant not in apart]
        return sum(kept) + min((math.log(plant.ratio) for plant in apart), default=0.0)


def effects_of(subject: Subject, genotype: Genotype) -> frozenset[Effect]:
    """Return the effects of a genotype, without edits that other edits make ineffective."""
    grammar = subject.grammar
    expansions = subject.expansions(genotype)
    gone = {place for place, made in expansions.items() if made.body is not None}
    found = {
        Effect(setting.name, "value", str(setting.value))
        for setting in genotype.configuration.settings
    }
    holders: Mapping[str, frozenset[str]] = grammar.holders  # type: ignore[attr-defined]
    for place, made in expansions.items():
        if holders[place] & (gone - {place}):
            continue
        if made.body is not None:
            found.add(Effect(place, "body", grammar.text(made.body) if made.body else ""))
        found.update(Effect(place, "before", grammar.text(donor)) for donor in made.before)
    return frozenset(found)


# -- planted improvements --------------------------------------------------------------------------


@dataclass(frozen=True)
class Garden:
    """Draws improvements as mutation draws edits, from those that a search is offered.

    Rules whose edits break less are preferred. No two improvements are at one rule or within each
    other.
    """

    subject: Subject
    seed: int

    @cached_property
    def _rng(self) -> random.Random:
        return random.Random(f"planted/{self.seed}")

    def edits(self, count: int, kinds: Sequence[type[Edit]] = EDIT_KINDS) -> list[Effect]:
        """Return the effects of some edits."""
        view = self.subject.grammar.under(self.subject.original.configuration.macros)
        drawing = self._draw(kinds, view.mutable)
        return [next(drawing) for _ in range(count)]

    def numbers(self, count: int) -> list[Effect]:
        """Return the effects of some numbers that change by a step."""
        grammar = self.subject.grammar
        view = grammar.under(self.subject.original.configuration.macros)
        places = [one for one in view.mutable if grammar.rule(one).type is RuleType.NUMBER]
        drawing = self._draw(EDIT_KINDS, places)
        return [next(drawing) for _ in range(count)]

    def exchange(
        self, first: type[Edit], place: RuleType = RuleType.STATEMENT
    ) -> frozenset[Effect]:
        """Return the effects of a move (if `first` is an insert) or of a swap (if it is a
        replacement).

        Args:
            place: the type of the rule at which the edit is made.
        """
        subject = self.subject
        while True:
            edits = draw_pair(subject.original, subject.offered, self._rng)
            if edits is None or type_of(edits[0].place) is not place:
                continue
            if isinstance(edits[0], first):
                genotype = Genotype(subject.original.configuration, edits)
                effects = effects_of(subject, genotype)
                if len(effects) == 2:
                    return effects

    @cached_property
    def _taken(self) -> set[str]:
        return set()

    def _draw(self, kinds: Sequence[type[Edit]], places: Sequence[str]) -> Iterator[Effect]:
        subject, rng = self.subject, self._rng
        plain = Landscape(subject, self.seed)
        grammar = subject.grammar
        holders: Mapping[str, frozenset[str]] = grammar.holders  # type: ignore[attr-defined]
        view = subject.offered.under(subject.original.configuration.macros)
        while True:
            place = rng.choice(places)
            family = {place, *holders[place]}
            inside = {name for name in self._taken if place in holders[name]}
            if family & self._taken or inside or rng.random() < plain.breaking(place):
                continue
            offered = [kind for kind in kinds if kind.operation in view.operations(place)]
            edit = rng.choice(offered).draw(place, grammar, view, rng) if offered else None
            if edit is None:
                continue
            effects = effects_of(subject, Genotype(subject.original.configuration, (edit,)))
            if len(effects) == 1:
                self._taken.add(place)
                yield next(iter(effects))

    def settings(self, count: int) -> list[Effect]:
        """Return the effects of some parameters that have another value."""
        space, rng = self.subject.space, self._rng
        found = []
        for at in rng.sample(space.free, count):
            parameter = space.parameters[at]
            value = rng.choice([one for one in parameter.values if one != parameter.default])
            found.append(Effect(parameter.name, "value", str(Setting(parameter.name, value).value)))
        return found


def pair(garden: Garden) -> list[Plant]:
    """Plant two edits that gain together, and nothing alone."""
    return [Plant(frozenset(garden.edits(2)), 0.8)]


def three(garden: Garden) -> list[Plant]:
    """Plant three edits that gain in any order."""
    return [Plant(frozenset([one]), 0.93) for one in garden.edits(3)]


def needle(garden: Garden) -> list[Plant]:
    """Plant one edit, without intermediate steps to it."""
    return [Plant(frozenset(garden.edits(1, EDIT_KINDS[1:])), 0.8)]


def many(garden: Garden) -> list[Plant]:
    """Plant ten edits and two parameter values that gain a little each."""
    effects = [*garden.edits(10), *garden.settings(2)]
    return [Plant(frozenset([one]), 0.97 - 0.004 * at) for at, one in enumerate(effects)]


def deletions(garden: Garden) -> list[Plant]:
    """Plant four deletions that gain only together."""
    return [Plant(frozenset(garden.edits(4, [Delete])), 0.8)]


def trap(garden: Garden) -> list[Plant]:
    """Plant an edit that gains, and two that gain more together but are wrong together with it."""
    one, *others = garden.edits(3)
    better = frozenset(others)
    return [Plant(frozenset([one]), 0.9, better), Plant(better, 0.75, frozenset([one]))]


def guarded(garden: Garden) -> list[Plant]:
    """Plant two deletions; the second gains much, but breaks the program without the first.

    The first gains a little. An example are two conditions that guard a store and its load.
    """
    first, second = garden.edits(2, [Delete])
    both = frozenset([first, second])
    return [Plant(frozenset([first]), 0.95), Plant(both, 0.85, needy=frozenset([second]))]


def moved(garden: Garden) -> list[Plant]:
    """Plant the move of a statement; a copy, or the deletion alone, breaks the program."""
    return [_both(garden.exchange(Insert))]


def swapped(garden: Garden) -> list[Plant]:
    """Plant the swap of two statements; one of them twice breaks the program."""
    return [_both(garden.exchange(Replace))]


def hoisted(garden: Garden) -> list[Plant]:
    """Plant the move of a statement before a loop; a copy, or the deletion alone, breaks the
    program.
    """
    return [_both(garden.exchange(Insert, RuleType.LOOP))]


def _both(effects: frozenset[Effect]) -> Plant:
    """Return a plant of effects each of which breaks the program without the other."""
    return Plant(effects, 0.8, needy=effects)


def step(garden: Garden) -> list[Plant]:
    """Plant a number that gains as one more or less, as its double or its half."""
    return [Plant(frozenset(garden.numbers(1)), 0.8)]


PLANTED: Mapping[str, Callable[[Garden], list[Plant]]] = {
    one.__name__: one
    for one in (pair, three, needle, many, deletions, trap, guarded, moved, swapped, hoisted, step)
}
"""Kinds of planted improvements, by name."""

GROUNDS: Mapping[str, str] = {"step": "numbers", "hoisted": "loops"}
"""The set of rule types for a kind of improvement, if not the paper's."""


def planted(subject: Subject, name: str, seed: int, ground: Subject | None = None) -> Landscape:
    """Return a landscape with one of :data:`PLANTED`; each seed plants at another place.

    Args:
        subject: the subject that is searched.
        ground: the same source with the rule types among which to plant; None for the subject.
    """
    return Landscape(subject, seed, tuple(PLANTED[name](Garden(ground or subject, seed))))
