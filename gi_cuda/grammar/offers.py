"""Tables of the donors that each place is offered: by type, by names in scope, by value.

All configurations share the tables. A table also says whether each name of a donor means the same
at a place under every configuration, or whether that depends on an `#if`. One table serves all
places of a class: places of one type, between the same two declarations, in one presence region,
which take the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gi_cuda.grammar.presence import Presence
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import PAPER_TYPES, RuleType, donor_types
from gi_cuda.grammar.scope import FILE_LEVEL, Declaration, NameUse, Scope, same_meaning
from gi_cuda.grammar.values import Demand, Value, fits

Meanings = tuple[Declaration | None, ...]
"""The declarations that a name may refer to at a place, depending on the configuration."""


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """Facts about the text of a rule or donor.

    Attributes:
        function: number of the function that contains the rule.
        region: presence region of the rule.
        uses: the names that the text uses and does not declare itself.
        assigns: the names that the text assigns to.
        declares: for a loop header that declares variables: their names and types.
        at: offset at which the names of donors for this place are looked up.
        value: for expressions: the type of the expression, and the requirement of its place.
    """

    function: int
    region: int
    uses: tuple[NameUse, ...]
    assigns: frozenset[str]
    declares: tuple[tuple[str, str], ...] = ()
    at: int = 0
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a hand-edited ``.scope`` against the front end's: pairs of (donor, place)."""

    granted: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()


class Donor(NamedTuple):
    """A donor that a class of places may be offered.

    Attributes:
        donor: name of the donor.
        text: text of the donor.
        region: the presence region that must be active.
        settled: True if its names mean the same at the place under every configuration.
    """

    donor: str
    text: str
    region: int
    settled: bool


class PlaceClass(NamedTuple):
    """The properties that decide which donors a place is offered."""

    type: RuleType
    function: int
    zone: int
    region: int
    declares: tuple[tuple[str, str], ...]
    demand: Demand | None


class _Kin(NamedTuple):
    """Equivalent donors of one function: same text, names and value, so the same places.

    Each member is a rank and two versions of the donor: with ``settled`` True and False.
    """

    members: list[tuple[int, Donor, Donor]]
    facts: RuleFacts
    needs: tuple[tuple[NameUse, Meanings], ...]


class _Clan(NamedTuple):
    """Kins of several functions that a place of any other function treats alike."""

    kins: list[_Kin]
    functions: dict[int, list[_Kin]]


class CutSource(Protocol):
    """The properties of a grammar that :class:`Offers` reads."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules, in source order."""

    @property
    def facts(self) -> Mapping[str, RuleFacts]:
        """Facts about the text of each donor, by name."""

    @property
    def copied(self) -> Mapping[str, RuleType]:
        """The type of each donor that has facts, by name, in order."""

    @property
    def scope(self) -> Scope:
        """All declarations."""

    @property
    def presence(self) -> Presence:
        """The conditional structure of the source."""

    def text(self, donor: str) -> str:
        """Return the original text of a rule."""


class Offers:
    """The tables of donors of one grammar, made on demand."""

    def __init__(self, grammar: CutSource) -> None:
        self.grammar = grammar
        self._types = frozenset(rule.type for rule in grammar.rules)
        self._tables: dict[PlaceClass, tuple[Donor, ...]] = {}
        self._clans: dict[RuleType, list[_Clan]] = {}
        self._meanings: dict[tuple[str, int, int, int], Meanings] = {}
        self._interned: dict[Meanings, Meanings] = {}
        self._matches: dict[tuple[int, int], tuple[bool, bool]] = {}
        self._classes: dict[str, PlaceClass] = {}
        self._names: dict[PlaceClass, frozenset[str]] = {}

    def place_class(self, rule: Rule) -> PlaceClass:
        """Return the class of a place."""
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

    def table(self, rule: Rule) -> tuple[Donor, ...]:
        """Return the donors of a place under some configuration, in source order, with itself."""
        wanted = self.place_class(rule)
        found = self._tables.get(wanted)
        if found is None:
            ranked = sorted(self._fill(wanted, self.grammar.facts[rule.name].at))
            found = self._tables[wanted] = tuple(candidate for _, candidate in ranked)
        return found

    def names(self, rule: Rule) -> frozenset[str]:
        """Return the names of the donors in a place's table."""
        wanted = self.place_class(rule)
        found = self._names.get(wanted)
        if found is None:
            names = frozenset(candidate.donor for candidate in self.table(rule))
            found = self._names[wanted] = names
        return found

    def _fill(self, place: PlaceClass, at: int) -> Iterator[tuple[int, Donor]]:
        here: dict[str, Meanings] = {}
        for kind in donor_types(place.type, self._types):
            for clan in self._clans_of(kind):
                facts = clan.kins[0].facts
                if facts.declares != place.declares or not _is_taken(place, facts.value):
                    continue
                own = clan.functions.get(place.function, [])
                for kin in own:
                    yield from _members([kin], self._settled(kin, place, at, here))
                if len(own) < len(clan.kins):
                    others = [kin for kin in clan.kins if kin.facts.function != place.function]
                    yield from _members(others, self._settled(others[0], place, at, here))

    def _settled(
        self, kin: _Kin, place: PlaceClass, at: int, here: dict[str, Meanings]
    ) -> bool | None:
        """Tell whether a kin fits a place under all configurations.

        Args:
            kin: the donors.
            place: class of the place.
            at: offset of the place.
            here: cache of the meanings of names at the place.

        Returns:
            True: under all configurations; False: perhaps under some; None: under none.
        """
        certain = True
        for use, there in kin.needs:
            name = use.name
            if name not in here:
                here[name] = self._may_mean(name, at, place.function, place.region)
            some, every = self._match(there, here[name])
            if use.reads:
                values = [meant is None or meant.is_set(at) for meant in here[name]]
                some, every = some and any(values), every and all(values)
            if not some:
                if use.region == kin.facts.region:
                    return None
                certain = False
            elif not every:
                certain = False
        return certain

    def _match(self, there: Meanings, here: Meanings) -> tuple[bool, bool]:
        """Tell whether any, and whether all, pairs of meanings there and here are the same."""
        key = id(there), id(here)  # the values are interned, so their ids stay valid
        found = self._matches.get(key)
        if found is None:
            pairs = [same_meaning(one, other) for one in there for other in here]
            found = self._matches[key] = any(pairs), all(pairs)
        return found

    def _clans_of(self, kind: RuleType) -> list[_Clan]:
        if kind not in self._clans:
            clans: dict[object, _Clan] = {}
            for kin in self._kins(kind):
                facts = kin.facts
                key = (
                    facts.declares,
                    facts.value and (facts.value.type, facts.value.variable),
                    tuple(
                        (
                            *(use.name, use.reads, use.region == facts.region),
                            tuple(map(_abroad, meanings)),
                        )
                        for use, meanings in kin.needs
                    ),
                )
                clan = clans.setdefault(key, _Clan([], {}))
                clan.kins.append(kin)
                clan.functions.setdefault(facts.function, []).append(kin)
            self._clans[kind] = list(clans.values())
        return self._clans[kind]

    def _kins(self, kind: RuleType) -> Iterable[_Kin]:
        found: dict[object, _Kin] = {}
        grammar = self.grammar
        for rank, (name, its) in enumerate(grammar.copied.items()):
            if its is not kind:
                continue
            facts, text = grammar.facts[name], grammar.text(name)
            needs = tuple(
                (use, self._may_mean(use.name, use.at, facts.function, use.region))
                for use in facts.uses
            )
            key = (
                text,
                facts.declares,
                facts.function,
                facts.value and (facts.value.type, facts.value.variable),
                tuple((u.name, u.reads, u.region == facts.region, id(may)) for u, may in needs),
            )
            settled, open_ = (Donor(name, text, facts.region, it) for it in (True, False))
            kin = found.setdefault(key, _Kin([], facts, needs))
            kin.members.append((rank, settled, open_))
        return found.values()

    def _may_mean(self, name: str, at: int, function: int, region: int) -> Meanings:
        key = (name, self.grammar.scope.zone(at, function), function, region)
        found = self._meanings.get(key)
        if found is None:
            looked_up = tuple(self._look_up(name, at, function, region))
            found = self._meanings[key] = self._interned.setdefault(looked_up, looked_up)
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


def _abroad(meaning: Declaration | None) -> object:
    """Return the part of a meaning that matters for places in other functions."""
    if meaning is None or meaning.function == FILE_LEVEL:
        return meaning
    return meaning.type


def _members(kins: Iterable[_Kin], settled: bool | None) -> Iterator[tuple[int, Donor]]:
    """Yield the members of some kins; nothing if ``settled`` is None (they fit nowhere)."""
    if settled is not None:
        for kin in kins:
            for rank, certain, uncertain in kin.members:
                yield rank, certain if settled else uncertain


def _is_taken(place: PlaceClass, value: Value | None) -> bool:
    """Tell whether a place takes a value.

    An expression that was made a rule by hand has no value, and so no donors.
    """
    if not place.type.kind.valued:
        return True
    return place.demand is not None and value is not None and fits(place.demand, value)


def is_deduplicated(place: Rule) -> bool:
    """Tell whether a place is offered only one of several donors with equal texts.

    True for types beyond the paper's, except gaps: a move to a gap deletes the donor at its origin,
    so donors with equal texts differ there.
    """
    return place.type not in PAPER_TYPES and not place.type.kind.gap
