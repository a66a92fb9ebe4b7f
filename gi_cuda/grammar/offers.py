"""Which donors a place is offered: by type, by names in scope, by value.

What can be said once and for all is said in tables that all configurations share: whether each
name of a donor means the same at a place is certain unless `#if` has a say in it. A table serves
all places of one class: those of one type, between the same two declarations, in one region,
taking the same values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gi_cuda.grammar.kinds import DONOR_TYPES
from gi_cuda.grammar.model import PAPER_TYPES, Rule, RuleType
from gi_cuda.grammar.scope import Declaration, Use, same_meaning
from gi_cuda.grammar.values import Demand, Value, fits

if TYPE_CHECKING:
    from gi_cuda.grammar.grammar import Facts, Grammar

_VALUED = frozenset({RuleType.RHS, RuleType.OP})

Meanings = tuple[Declaration | None, ...]
"""What a name may mean somewhere, by configuration; one meaning where none has a say."""


class Candidate(NamedTuple):
    """A donor that a class of places may be offered.

    Attributes:
        donor: its name.
        text: its text.
        region: the presence region that must be active.
        settled: whether its names mean the same there whatever the configuration.
    """

    donor: str
    text: str
    region: int
    settled: bool


class PlaceClass(NamedTuple):
    """What places have in common that are offered the same."""

    type: RuleType
    function: int
    zone: int
    region: int
    declares: tuple[tuple[str, str], ...]
    demand: Demand | None


class _Kin(NamedTuple):
    """Donors of which one fits wherever another does: same text, names and value."""

    members: list[tuple[int, Candidate]]
    facts: Facts
    needs: tuple[tuple[Use, Meanings], ...]


class Offers:
    """The tables of one grammar, made as they are asked for."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._tables: dict[PlaceClass, tuple[Candidate, ...]] = {}
        self._kins: dict[RuleType, list[_Kin]] = {}
        self._meanings: dict[tuple[str, int, int, int], Meanings] = {}
        self._classes: dict[str, PlaceClass] = {}

    def place_class(self, rule: Rule) -> PlaceClass:
        """The class of a place."""
        found = self._classes.get(rule.name)
        if found is None:
            facts = self.grammar.facts[rule.name]
            zone = self.grammar.scope.zone(facts.at, facts.function)
            demand = None if facts.value is None else facts.value.demand
            found = PlaceClass(
                rule.type, facts.function, zone, facts.region, facts.declares, demand
            )
            self._classes[rule.name] = found
        return found

    def table(self, rule: Rule) -> tuple[Candidate, ...]:
        """What some configuration may offer a place, itself included, in source order."""
        wanted = self.place_class(rule)
        found = self._tables.get(wanted)
        if found is None:
            ranked = sorted(self._fill(wanted, self.grammar.facts[rule.name].at))
            found = self._tables[wanted] = tuple(candidate for _, candidate in ranked)
        return found

    def _fill(self, place: PlaceClass, at: int) -> Iterator[tuple[int, Candidate]]:
        here: dict[str, Meanings] = {}
        for kind in DONOR_TYPES[place.type]:
            for kin in self._kin(kind):
                if kin.facts.declares != place.declares:
                    continue
                if not _is_taken(place, kin.facts.value):
                    continue
                settled = self._settled(kin, place, at, here)
                if settled is not None:
                    for rank, member in kin.members:
                        yield rank, member._replace(settled=settled)

    def _settled(
        self, kin: _Kin, place: PlaceClass, at: int, here: dict[str, Meanings]
    ) -> bool | None:
        """Whether the kin fits everywhere (True), somewhere (False) or nowhere (None)."""
        certain = True
        for use, there in kin.needs:
            name = use.name
            if name not in here:
                here[name] = self._may_mean(name, at, place.function, place.region)
            pairs = [same_meaning(one, other) for one in there for other in here[name]]
            if not any(pairs):
                if use.region == kin.facts.region:
                    return None
                certain = False
            elif not all(pairs):
                certain = False
        return certain

    def _kin(self, kind: RuleType) -> list[_Kin]:
        if kind not in self._kins:
            found: dict[object, _Kin] = {}
            grammar = self.grammar
            for rank, rule in enumerate(grammar.rules):
                if rule.type is not kind:
                    continue
                facts, text = grammar.facts[rule.name], grammar.text(rule.name)
                needs = tuple(
                    (use, self._may_mean(use.name, use.at, facts.function, use.region))
                    for use in facts.uses
                )
                key = (
                    text,
                    facts.declares,
                    facts.value and (facts.value.type, facts.value.variable),
                    tuple((use.name, use.region == facts.region, may) for use, may in needs),
                )
                candidate = Candidate(rule.name, text, facts.region, False)
                found.setdefault(key, _Kin([], facts, needs)).members.append((rank, candidate))
            self._kins[kind] = list(found.values())
        return self._kins[kind]

    def _may_mean(self, name: str, at: int, function: int, region: int) -> Meanings:
        key = (name, self.grammar.scope.zone(at, function), function, region)
        found = self._meanings.get(key)
        if found is None:
            found = self._meanings[key] = tuple(self._look_up(name, at, function, region))
        return found

    def _look_up(
        self, name: str, at: int, function: int, region: int
    ) -> Iterator[Declaration | None]:
        presence = self.grammar.presence
        for declaration in self.grammar.scope.visible(name, at, function):
            yield declaration
            if presence.encloses(declaration.region, region):
                return
        yield None


def _is_taken(place: PlaceClass, value: Value | None) -> bool:
    """Whether a place takes a value; rules of the finer types made by hand have none."""
    if place.type not in _VALUED:
        return True
    return place.demand is not None and value is not None and fits(place.demand, value)


def is_deduplicated(place: Rule) -> bool:
    """Whether donors of one text are one donor for a place: they are for the finer types."""
    return place.type not in PAPER_TYPES
