"""A source as a grammar: its rules, and which may go where under which configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gi_cuda.grammar.kinds import KINDS, SPECIAL_TYPES, Join, Operation, type_of
from gi_cuda.grammar.model import Loop, Rule, RuleType, Source
from gi_cuda.grammar.presence import Presence
from gi_cuda.grammar.scope import Declaration, Scope, Use, same_meaning


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evolves: its name, whether it is a kernel, and its span."""

    name: str
    kernel: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the front end knows of a rule's text.

    Attributes:
        function: number of the function it stands in.
        region: its presence region.
        uses: the names it uses and does not declare itself.
        assigns: the names it assigns to.
        declares: for a loop header that declares: names and types.
    """

    function: int
    region: int
    uses: tuple[Use, ...]
    assigns: frozenset[str]
    declares: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """How a hand-edited ``.scope`` differs from the front end's: pairs of (donor, place)."""

    granted: frozenset[tuple[str, str]] = frozenset()
    forbidden: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Grammar:
    """One source cut into fixed text and rules (Langdon et al. 2015, section 2.4).

    Attributes:
        source: the source text.
        rules: in source order, outer before inner.
        loops: the loops of the evolved functions, by ident.
        functions: the functions that evolve.
        facts: by rule name, what its text uses.
        scope: all declarations.
        presence: the conditional structure of the source.
        specials: text of the donors that stand for no place in the source.
        host_spans: spans of host-only functions, and of lines that launch kernels.
        includes: spans of the ``#include`` lines.
        macros: names of the macros that the source defines.
        changes: what a hand-edited ``.scope`` grants and forbids.
    """

    source: Source
    rules: tuple[Rule, ...]
    loops: tuple[Loop, ...]
    functions: tuple[Function, ...]
    facts: Mapping[str, Facts] = field(repr=False)
    scope: Scope = field(repr=False)
    presence: Presence = field(repr=False)
    specials: Mapping[str, str] = field(repr=False)
    host_spans: tuple[tuple[int, int], ...] = ()
    includes: tuple[tuple[int, int], ...] = ()
    macros: frozenset[str] = frozenset()
    changes: Changes = Changes()
    _index: dict[str, Rule] = field(init=False, repr=False, compare=False)
    _views: dict[object, View] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {rule.name: rule for rule in self.rules})
        object.__setattr__(self, "_views", {})

    def rule(self, name: str) -> Rule:
        """The rule of that name (KeyError if there is none)."""
        return self._index[name]

    def text(self, donor: str) -> str:
        """The original text of a rule, or the text of a special donor (KeyError if neither)."""
        special = self.specials.get(donor)
        if special is not None:
            return special
        rule = self._index[donor]
        return self.source.text[rule.start : rule.end]

    def donors(self, place: str) -> tuple[str, ...]:
        """The donors that may go to a place under some configuration, never the place itself."""
        return self._everything.donors(place)

    def places(self, donor: str) -> tuple[str, ...]:
        """The places that a donor may go to under some configuration."""
        return tuple(
            rule.name
            for rule in self.rules
            if rule.type is type_of(donor) and donor in self.donors(rule.name)
        )

    def under(self, macros: Mapping[str, str]) -> View:
        """The grammar as a configuration sees it; ``macros`` are those that it defines."""
        key = frozenset(macros.items())
        view = self._views.get(key)
        if view is None:
            active = self.presence.active(macros)
            view = self._views.get(active)
            if view is None:
                view = self._views[active] = View(self, active)
            self._views[key] = view
        return view

    @property
    def _everything(self) -> StaticView:
        view = self._views.get("static")
        if not isinstance(view, StaticView):
            view = self._views["static"] = StaticView(self)
        return view


class View:
    """What a configuration leaves of a grammar: active rules, and donors in scope."""

    def __init__(self, grammar: Grammar, active: tuple[bool, ...]) -> None:
        self.grammar = grammar
        self.active = active
        facts = grammar.facts
        self.mutable: tuple[str, ...] = tuple(
            rule.name for rule in grammar.rules if active[facts[rule.name].region]
        )
        """Names of the rules that this configuration compiles, in source order."""
        self._by_type: dict[RuleType, list[str]] = {}
        for name in self.mutable:
            self._by_type.setdefault(grammar.rule(name).type, []).append(name)
        self._donors: dict[str, tuple[str, ...]] = {}
        self._needs: dict[str, tuple[tuple[str, Declaration | None], ...]] = {}

    def donors(self, place: str) -> tuple[str, ...]:
        """Donors that are active and mean the same at the place; never the place itself."""
        found = self._donors.get(place)
        if found is None:
            found = self._donors[place] = self._find(place)
        return found

    def _find(self, place: str) -> tuple[str, ...]:
        rule = self.grammar.rule(place)
        if rule.type in SPECIAL_TYPES:
            return special_donors(self.grammar, rule)
        changes = self.grammar.changes
        here: dict[str, Declaration | None] = {}
        return tuple(
            donor
            for donor in self._by_type.get(rule.type, ())
            if donor != place
            and (donor, place) not in changes.forbidden
            and ((donor, place) in changes.granted or self._fits(donor, rule, here))
        )

    def _fits(self, donor: str, place: Rule, here: dict[str, Declaration | None]) -> bool:
        facts = self.grammar.facts
        if facts[donor].declares != facts[place.name].declares:
            return False
        for name, there in self._needed(donor):
            if name not in here:
                function = facts[place.name].function
                here[name] = self.grammar.scope.resolve(name, place.start, function, self.active)
            if there is not here[name] and not same_meaning(there, here[name]):
                return False
        return True

    def _needed(self, donor: str) -> tuple[tuple[str, Declaration | None], ...]:
        needs = self._needs.get(donor)
        if needs is None:
            facts = self.grammar.facts[donor]
            resolve = self.grammar.scope.resolve
            needs = self._needs[donor] = tuple(
                (use.name, resolve(use.name, use.at, facts.function, self.active))
                for use in facts.uses
                if self.active[use.region]
            )
        return needs


class StaticView(View):
    """Every rule at once: what may be in scope under some configuration."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(grammar, (True,) * len(grammar.presence.parents))
        self._possible: dict[tuple[str, int, int], tuple[Declaration | None, ...]] = {}

    def _fits(self, donor: str, place: Rule, here: dict[str, Declaration | None]) -> bool:
        facts = self.grammar.facts
        mine, theirs = facts[donor], facts[place.name]
        return mine.declares == theirs.declares and all(
            any(
                same_meaning(there, possible)
                for there in self._may_be(use.name, use.at, mine.function)
                for possible in self._may_be(use.name, place.start, theirs.function)
            )
            for use in mine.uses
        )

    def _may_be(self, name: str, at: int, function: int) -> tuple[Declaration | None, ...]:
        key = (name, at, function)
        found = self._possible.get(key)
        if found is None:
            found = self._possible[key] = self._look_up(name, at, function)
        return found

    def _look_up(self, name: str, at: int, function: int) -> tuple[Declaration | None, ...]:
        presence = self.grammar.presence
        region = presence.region(at)
        found: list[Declaration | None] = []
        for declaration in self.grammar.scope.visible(name, at, function):
            found.append(declaration)
            if presence.encloses(declaration.region, region):
                return tuple(found)
        return (*found, None)


def special_donors(grammar: Grammar, place: Rule) -> tuple[str, ...]:
    """The special donors of a place's type that would change it."""
    own = grammar.source.text[place.start : place.end]
    if place.type is RuleType.RESTRICT and own:
        return ()
    return tuple(
        name
        for name, text in grammar.specials.items()
        if type_of(name) is place.type and text != own
    )


def operations(offers: Grammar | View, place: str) -> tuple[Operation, ...]:
    """Which edits apply to a rule, given what is on offer for it."""
    grammar = offers.grammar if isinstance(offers, View) else offers
    rule = grammar.rule(place)
    kind = KINDS[rule.type]
    own = grammar.text(place)
    declares = bool(grammar.facts[place].declares)
    found = []
    if kind.deleted is not None and own != kind.deleted and not declares:
        found.append(Operation.DELETE)
    if offers.donors(place):
        found.append(Operation.REPLACE)
        if kind.join is not Join.NEVER and not declares:
            found.append(Operation.INSERT)
    return tuple(found)
