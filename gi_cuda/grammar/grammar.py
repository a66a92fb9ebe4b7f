"""The grammar of a CUDA source: its rules, and the donors of each place by configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby

from gi_cuda.grammar.interface import Rules, Selection
from gi_cuda.grammar.offers import Changes, Donor, Offers, PlaceClass, RuleFacts, is_deduplicated
from gi_cuda.grammar.presence import Presence
from gi_cuda.grammar.rule import Function, Hunk, Loop, Rule
from gi_cuda.grammar.rule_types import Join, Operation, RuleType, type_of
from gi_cuda.grammar.scope import Declaration, NameUse, Scope, same_meaning
from gi_cuda.grammar.steps import steps


@dataclass(frozen=True)
class Grammar(Rules):
    """A CUDA source cut into fixed text and rules (Langdon et al. 2015, section 2.4).

    Attributes:
        functions: the functions that evolve.
        facts: facts about the text of each rule, and of each donor supplied by hand, by name.
        scope: all declarations.
        presence: the conditional structure of the source.
        includes: spans of the ``#include`` lines.
        macros: names of the macros that the source defines.
        changes: pairs of donor and place that a hand-edited ``.scope`` grants or forbids.
        hunks: the changes of patches, by name of their special donor.
    """

    functions: tuple[Function, ...]
    facts: Mapping[str, RuleFacts] = field(repr=False)
    scope: Scope = field(repr=False)
    presence: Presence = field(repr=False)
    includes: tuple[tuple[int, int], ...] = ()
    macros: frozenset[str] = frozenset()
    changes: Changes = field(default_factory=Changes)
    hunks: Mapping[str, Hunk] = field(default_factory=dict, repr=False)

    @cached_property
    def _views(self) -> dict[object, View]:
        return {}

    def donors(self, place: str) -> tuple[str, ...]:
        """Return the donors that may go to a place under some configuration, without the place."""
        rule = self.rule(place)
        if rule.type.special:
            return special_donors(self, rule)
        offered: Iterable[Donor] = self.offers.table(rule)
        if place in self.granted:
            offered = self.in_order(offered, self.granted[place])
        return tuple(
            candidate.donor
            for candidate in offered
            if candidate.donor != place and (candidate.donor, place) not in self.changes.forbidden
        )

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the operations that a rule offers under some configuration."""
        return _operations(self, self, place)

    def count(self, place: str) -> int:
        """Return the number of donors that may go to a place under some configuration."""
        rule = self.rule(place)
        if rule.type.special or self.changes != Changes():
            return len(self.donors(place))
        return len(self.offers.table(rule)) - (place in self.offers.names(rule))

    def under(self, macros: Mapping[str, str]) -> View:
        """Return the view of the grammar for a configuration that defines some macros."""
        key = frozenset(macros.items())
        view = self._views.get(key)
        if view is None:
            active = self.presence.active(macros, self._in_place)
            view = self._views.get(active)
            if view is None:
                view = self._views[active] = View(self, active)
            self._views[key] = view
        return view

    def under_any(self, macros: Mapping[str, str]) -> Selection:
        """Return the rules that some configuration compiles; ``ANY`` macros have any value."""
        return _Part(self, self.presence.active(macros, self._in_place))

    @cached_property
    def _in_place(self) -> frozenset[str]:
        """Macros whose definitions in the source are replaced by a configuration's values."""
        return self.presence.unguarded()

    @cached_property
    def offers(self) -> Offers:
        """The donors of each place under some configuration."""
        return Offers(self)

    @cached_property
    def runs(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """The names of the rules in source order, grouped into runs of one presence region."""
        regions = groupby(self.rules, key=lambda rule: self.facts[rule.name].region)
        return tuple((region, tuple(rule.name for rule in run)) for region, run in regions)

    @cached_property
    def holders(self) -> Mapping[str, frozenset[str]]:
        """For each rule, by name, the names of the rules that contain it."""
        found = {}
        begun: list[Rule] = []
        for rule in self.rules:  # outer before inner
            begun = [outer for outer in begun if outer.end >= rule.start]
            # A rule without text at the start of another rule is before that rule, not in it.
            found[rule.name] = frozenset(
                outer.name for outer in begun if outer.start < rule.end <= outer.end
            )
            if rule.start != rule.end:
                begun.append(rule)
        return found

    @cached_property
    def loop_holders(self) -> Mapping[int, frozenset[str]]:
        """For each loop, by ident, the names of the rules that contain the loop's start."""
        return {
            loop.ident: frozenset(
                rule.name
                for rule in self.rules
                if rule.start <= loop.start < rule.end and rule.type is not RuleType.PRAGMA
            )
            for loop in self.loops
        }

    @cached_property
    def loops_around(self) -> Mapping[str, tuple[Loop, ...]]:
        """For each rule, by name, the loops that contain it."""
        return {
            rule.name: tuple(loop for loop in self.loops if loop.start <= rule.start <= loop.end)
            for rule in self.rules
        }

    @cached_property
    def granted(self) -> Mapping[str, tuple[Donor, ...]]:
        """For each place, the donors that only a hand-edited ``.scope`` allows there."""
        found: dict[str, list[Donor]] = {}
        for donor, place in self.changes.granted:
            region = self.facts[donor].region
            found.setdefault(place, []).append(Donor(donor, self.text(donor), region, True))
        return {place: tuple(candidates) for place, candidates in found.items()}

    @cached_property
    def copied(self) -> Mapping[str, RuleType]:
        """The type of each donor that is copied text, by name.

        Rules come first, in source order, then donors that were supplied by hand.
        """
        rules = {rule.name: rule.type for rule in self.rules}
        supplied = (name for name in self.specials if name in self.facts)
        return rules | {name: kind for name in supplied if (kind := type_of(name)) is not None}

    @cached_property
    def _rank(self) -> Mapping[str, int]:
        return {name: rank for rank, name in enumerate(self.copied)}

    def in_order(self, *groups: Iterable[Donor]) -> list[Donor]:
        """Merge groups of donors in source order."""
        return sorted(chain(*groups), key=lambda candidate: self._rank[candidate.donor])


class _Part:
    """A selection of the rules of some presence regions, with the donors in these regions."""

    def __init__(self, grammar: Grammar, active: tuple[bool, ...]) -> None:
        self.grammar = grammar
        self.mutable = tuple(
            chain.from_iterable(names for region, names in grammar.runs if active[region])
        )
        self._out = frozenset(name for name, one in grammar.facts.items() if not active[one.region])

    def donors(self, place: str) -> tuple[str, ...]:
        return tuple(one for one in self.grammar.donors(place) if one not in self._out)

    def count(self, place: str) -> int:
        return len(self.donors(place)) if self._out else self.grammar.count(place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        return _operations(self.grammar, self, place)


class View:
    """A grammar under one configuration: its active rules, and the donors in scope."""

    def __init__(self, grammar: Grammar, active: tuple[bool, ...]) -> None:
        self.grammar = grammar
        self.active = active
        self.mutable: tuple[str, ...] = tuple(
            chain.from_iterable(names for region, names in grammar.runs if active[region])
        )
        """Names of the rules that this configuration compiles, in source order."""
        self._donors: dict[str, tuple[str, ...]] = {}
        self._offers: dict[PlaceClass, list[Donor]] = {}
        self._spelled: dict[PlaceClass, tuple[frozenset[str], frozenset[str]]] = {}
        self._needs: dict[str, tuple[tuple[NameUse, Declaration | None], ...]] = {}
        self._may_go: dict[tuple[str, str], bool] = {}
        self._operations: dict[str, tuple[Operation, ...]] = {}

    def donors(self, place: str) -> tuple[str, ...]:
        """Return the active donors whose names mean the same at a place, without the place itself.

        A place of a type beyond the paper's is offered only the first of several donors with equal
        texts, and no donor with its own text.
        """
        found = self._donors.get(place)
        if found is None:
            found = self._donors[place] = self._find(self.grammar.rule(place))
        return found

    def count(self, place: str) -> int:
        """Return the number of donors that :meth:`donors` returns for a place."""
        grammar = self.grammar
        rule = grammar.rule(place)
        if rule.type.special or grammar.changes != Changes() or place in self._donors:
            return len(self.donors(place))
        wanted = grammar.offers.place_class(rule)
        found = self._spelled.get(wanted)
        if found is None:
            offered = self._offered(rule)
            found = frozenset(c.donor for c in offered), frozenset(c.text for c in offered)
            self._spelled[wanted] = found
        names, texts = found
        if is_deduplicated(rule):
            return len(texts) - (grammar.text(place) in texts)
        return len(names) - (place in names)

    def operations(self, place: str) -> tuple[Operation, ...]:
        """Return the operations that a rule offers."""
        found = self._operations.get(place)
        if found is None:
            found = self._operations[place] = _operations(self.grammar, self, place)
        return found

    def is_active(self, name: str) -> bool:
        """Tell whether the configuration compiles a rule."""
        return self.active[self.grammar.facts[name].region]

    def may_go(self, donor: str, place: str) -> bool:
        """Tell whether a donor is in scope at a place under this configuration.

        Args:
            donor: a donor that some configuration offers the place.
            place: the place.
        """
        if donor not in self.grammar.facts:
            return True
        if not self.is_active(donor):
            return False
        if (donor, place) in self.grammar.changes.granted:
            return True
        found = self._may_go.get((donor, place))
        if found is None:
            found = self._may_go[donor, place] = self._means_same(donor, place, {})
        return found

    def _find(self, rule: Rule) -> tuple[str, ...]:
        grammar = self.grammar
        if rule.type.special:
            return special_donors(grammar, rule)
        offered = self._offered(rule)
        granted = grammar.granted.get(rule.name, ())
        if granted:
            offered = grammar.in_order(offered, (c for c in granted if self.active[c.region]))
        forbidden = grammar.changes.forbidden
        names = [c for c in offered if c.donor != rule.name]
        if forbidden:
            names = [c for c in names if (c.donor, rule.name) not in forbidden]
        if not is_deduplicated(rule):
            return tuple(c.donor for c in names)
        first: dict[str, str] = {grammar.text(rule.name): ""}
        for candidate in names:
            first.setdefault(candidate.text, candidate.donor)
        return tuple(name for name in first.values() if name)

    def _offered(self, rule: Rule) -> list[Donor]:
        wanted = self.grammar.offers.place_class(rule)
        found = self._offers.get(wanted)
        if found is None:
            here: dict[str, Declaration | None] = {}
            found = self._offers[wanted] = [
                candidate
                for candidate in self.grammar.offers.table(rule)
                if self.active[candidate.region]
                and (candidate.settled or self._means_same(candidate.donor, rule.name, here))
            ]
        return found

    def _means_same(self, donor: str, place: str, here: dict[str, Declaration | None]) -> bool:
        facts = self.grammar.facts[place]
        for use, there in self._needed(donor):
            name = use.name
            if name not in here:
                resolve = self.grammar.scope.resolve
                here[name] = resolve(name, facts.at, facts.function, self.active)
            meant = here[name]
            if not same_meaning(there, meant):
                return False
            if use.reads and meant is not None and not meant.is_set(facts.at):
                return False
        return True

    def _needed(self, donor: str) -> tuple[tuple[NameUse, Declaration | None], ...]:
        needs = self._needs.get(donor)
        if needs is None:
            facts = self.grammar.facts[donor]
            resolve = self.grammar.scope.resolve
            needs = self._needs[donor] = tuple(
                (use, resolve(use.name, use.at, facts.function, self.active))
                for use in facts.uses
                if self.active[use.region]
            )
        return needs


_SWITCHES = frozenset({RuleType.RESTRICT, RuleType.SEAM})
"""Types of rules that are either present or absent: a present one has no donors."""


def special_donors(grammar: Grammar, place: Rule) -> tuple[str, ...]:
    """Return the special donors that would change a place.

    A number takes only its own steps, a transformation only its own choices.
    """
    if place.type.kind.transforms:
        return place.choices
    own = grammar.source.text[place.start : place.end]
    if place.type in _SWITCHES and own:
        return ()
    near = frozenset(steps(own)) if place.type.kind.stepped else None
    return tuple(
        name
        for name, text in grammar.specials.items()
        if type_of(name) is place.type and text != own and (near is None or text in near)
    )


def _operations(grammar: Grammar, offers: Selection, place: str) -> tuple[Operation, ...]:
    """Return the operations that a rule offers, given the donors of a selection."""
    rule = grammar.rule(place)
    kind = rule.type.kind
    own = grammar.text(place)
    declares = bool(grammar.facts[place].declares)
    found = []
    if kind.deleted is not None and own != kind.deleted and not declares:
        found.append(Operation.DELETE)
    if offers.count(place):
        if not kind.gap:
            found.append(Operation.REPLACE)
        if kind.join is not Join.NEVER and not declares:
            found.append(Operation.INSERT)
    return tuple(found)
