"""The ``.scope`` notation: for each variable rule, the places to which it may be copied."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gi_cuda.errors import UserError
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.offers import Changes, PlaceClass
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import RuleType, donor_types, type_of
from gi_cuda.spec.launching.kernel_names import listed

_HEADER = """\
# Scope of {name}: for each variable rule the places it may be copied to, which are rules of its
# own type, by line (of another file: line@file). Taking a place out forbids it, putting one in
# allows it.
"""


def write_scope(grammar: Grammar) -> str:
    """Return a ``.scope`` file: for each variable rule, the places to which it may go.

    A place is listed if some configuration allows it.
    """
    lines = [_HEADER.format(name=grammar.source.name)]
    reach = Reach(grammar)
    spelled: dict[object, str] = {}
    for rule in grammar.rules:
        if rule.type.special:
            continue
        places = reach.places(rule)
        key = rule.type, rule.file, places  # donors of one kind go to the same places
        if key not in spelled:
            spelled[key] = " ".join(_words(reach, rule, places))
        lines.append(f"<{rule.name}>: {spelled[key]}".rstrip() + "\n")
    return "".join(lines)


class DonorReach(NamedTuple):
    """The places to which a donor may go: all places of some classes, with exceptions.

    Attributes:
        classes: numbers of the classes.
        granted: names of further places.
        forbidden: names of places of these classes to which the donor may not go.
    """

    classes: frozenset[int]
    granted: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


class Reach:
    """The places of all donors, as classes of places that take the same donors."""

    def __init__(self, grammar: Grammar) -> None:
        self.classes: dict[str, int] = {}
        """The number of each place's class, by the place's name."""
        self.members: list[list[str]] = []
        self._lines: dict[RuleType, dict[str, list[_Entry]]] = {}
        self._runs: dict[RuleType, dict[str, list[_Entry]]] = {}
        known: dict[PlaceClass, int] = {}
        reached: dict[str, list[int]] = {rule.name: [] for rule in grammar.rules}
        for rule in grammar.rules:
            if rule.type.special:
                continue
            place_class = grammar.offers.place_class(rule)
            number = known.setdefault(place_class, len(known))
            if number == len(self.members):
                self.members.append([])
                for candidate in grammar.offers.table(rule):
                    if candidate.donor in reached:
                        reached[candidate.donor].append(number)
            self.classes[rule.name] = number
            self.members[number].append(rule.name)
        shared: dict[tuple[int, ...], frozenset[int]] = {}
        self._reached = {
            donor: shared.setdefault(key := tuple(numbers), frozenset(key))
            for donor, numbers in reached.items()
        }
        self._granted, self._forbidden = (
            _by_donor(grammar.changes.granted),
            _by_donor(grammar.changes.forbidden),
        )
        self._grammar = grammar
        self._types = frozenset(rule.type for rule in grammar.rules)

    def places(self, donor: Rule) -> DonorReach:
        """Return the places to which a donor may go, its own place included."""
        classes = self._reached[donor.name]
        granted = self._granted.get(donor.name, frozenset())
        if self.classes[donor.name] not in classes:
            granted |= {donor.name}
        return DonorReach(classes, granted, self._forbidden.get(donor.name, frozenset()))

    def others(self, donor: Rule) -> list[RuleType]:
        """Return the types of places, other than its own type, to which a donor may go."""
        taking = (kind for kind in RuleType if donor.type in donor_types(kind, self._types))
        return [kind for kind in taking if kind is not donor.type]

    def names(self, places: DonorReach) -> set[str]:
        """Return the names of the rules that a donor may be inserted at."""
        found = {name for number in places.classes for name in self.members[number]}
        return (found | places.granted) - places.forbidden

    def entries(self, kind: RuleType, *, lines: bool) -> Mapping[str, Sequence[_Entry]]:
        """Return the places of a type by file, in order.

        Args:
            kind: the type.
            lines: True for one entry per line; False to merge runs of lines of one class.
        """
        if kind not in self._lines:
            by_file = self._lines[kind] = {}
            of_type = (rule for rule in self._grammar.rules if rule.type is kind)
            for (file, line), found in groupby(of_type, key=lambda rule: (rule.file, rule.line)):
                rules = tuple(found)
                classes = frozenset(self.classes[rule.name] for rule in rules)
                by_file.setdefault(file, []).append(_Entry(line, line, rules, classes))
            self._runs[kind] = {file: list(_runs(entries)) for file, entries in by_file.items()}
        return self._lines[kind] if lines else self._runs[kind]


class _Entry(NamedTuple):
    """A run of lines, with the rules of a type on these lines and the classes of the rules."""

    first: int
    last: int
    rules: tuple[Rule, ...]
    classes: frozenset[int]


def _runs(entries: Sequence[_Entry]) -> Iterator[_Entry]:
    for classes, run in groupby(entries, key=lambda entry: entry.classes):
        if len(classes) > 1:
            yield from run
        else:
            found = list(run)
            rules = tuple(rule for entry in found for rule in entry.rules)
            yield _Entry(found[0].first, found[-1].last, rules, classes)


def _by_donor(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for donor, place in pairs:
        found.setdefault(donor, set()).add(place)
    return {donor: frozenset(places) for donor, places in found.items()}


def _words(reach: Reach, donor: Rule, places: DonorReach) -> Iterator[str]:
    """Yield the places in as few words as possible; a prefix marks another type or file."""
    for kind in (donor.type, *reach.others(donor)):
        mark = "" if kind is donor.type else f"{kind}:"
        by_file = reach.entries(kind, lines=bool(places.granted or places.forbidden))
        for file in sorted(by_file, key=lambda file: file != donor.file):
            at = "" if file == donor.file else f"@{file}"
            yield from (f"{mark}{word}{at}" for word in _ranges(reach, by_file[file], places))


def _ranges(reach: Reach, entries: Sequence[_Entry], places: DonorReach) -> Iterator[str]:
    """Yield runs of lines on which every rule of the type is allowed, and single places."""

    def allowed(rule: Rule) -> bool:
        if rule.name in places.granted:
            return True
        return reach.classes[rule.name] in places.classes and rule.name not in places.forbidden

    plain = not (places.granted or places.forbidden)

    def full(entry: _Entry) -> bool:
        return entry.classes <= places.classes if plain else all(map(allowed, entry.rules))

    for whole, run in groupby(entries, key=full):
        found = list(run)
        first, last = found[0].first, found[-1].last
        if whole and (first < last or len(found[0].rules) > 1):
            yield f"{first}-{last}"
            continue
        for entry in found:
            if whole or not plain or entry.classes & places.classes:
                yield from (_point(rule) for rule in entry.rules if allowed(rule))


def _line(rule: Rule) -> int:
    return rule.line


def _point(rule: Rule) -> str:
    return rule.name.rpartition("_")[2]


@cache
def _parser() -> Lark:
    grammar = files("gi_cuda.grammar.notation").joinpath("scope.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr")


def read_scope(text: str, grammar: Grammar, retired: Mapping[str, RuleType], name: str) -> Changes:
    """Read a scope file: what it grants and forbids compared with the front end.

    Args:
        text: text of the file.
        grammar: the grammar.
        retired: rules of the source that the grammar no longer has; places and donors that name
            them are ignored.
        name: name of the file in error messages.

    Raises:
        UserError: the text is not in the notation, or names a rule that does not exist. The message
            has the file and line.
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise UserError(
            "this is not a line of a scope file",
            where=f"{name}:{max(error.line, 1)}",
            hint="a line looks like: <rule>: 119-126 140 152.2",
        ) from error
    reach = Reach(grammar)
    reader = _Reader(grammar, retired, reach)
    words: dict[str, list[tuple[str, str]]] = {}
    for entry in tree.children:
        assert isinstance(entry, Tree)
        symbol, *given = (token for token in entry.children if isinstance(token, Token))
        donor, where = symbol[1:-1], f"{name}:{symbol.line}"
        _check_donor(donor, grammar, retired, where)
        if donor not in retired:
            words.setdefault(donor, []).extend((str(word), where) for word in given)
    granted: set[tuple[str, str]] = set()
    forbidden: set[tuple[str, str]] = set()
    for rule in grammar.rules:
        if not rule.type.special:
            more, less = reader.difference(rule, words.get(rule.name, []))
            granted |= {(rule.name, place) for place in more if place != rule.name}
            forbidden |= {(rule.name, place) for place in less if place != rule.name}
    return Changes(frozenset(granted), frozenset(forbidden))


def _check_donor(donor: str, grammar: Grammar, retired: Mapping[str, RuleType], where: str) -> None:
    kind = retired.get(donor)
    if kind is None and donor in grammar:
        kind = type_of(donor)
    if kind is None or kind.special:
        raise UserError(
            f"there is no variable rule <{donor}>", where=where, hint="see the .bnf for its rules"
        )


class _Reader:
    """Resolves the words of a scope file to places."""

    def __init__(self, grammar: Grammar, retired: Mapping[str, RuleType], reach: Reach) -> None:
        self._grammar = grammar
        self._retired = retired
        self._reach = reach
        self._rules: dict[tuple[RuleType, str], list[Rule]] = {}
        for rule in grammar.rules:
            self._rules.setdefault((rule.type, rule.file), []).append(rule)
        self._known: dict[object, tuple[set[str], set[str]]] = {}

    def difference(
        self, donor: Rule, words: Sequence[tuple[str, str]]
    ) -> tuple[set[str], set[str]]:
        """Return the places that the words add to the front end's, and the places that they omit.

        Args:
            donor: the donor that the words belong to.
            words: each word with its file and line.
        """
        places = self._reach.places(donor)
        key = donor.type, donor.file, tuple(word for word, _ in words), places
        if key not in self._known:
            allowed = {place for word, at in words for place in self.places(word, donor, at)}
            static = self._reach.names(places)
            self._known[key] = allowed - static, static - allowed
        return self._known[key]

    def places(self, word: str, donor: Rule, where: str) -> Iterator[str]:
        """Yield the places that a word on a donor's line stands for.

        Raises:
            UserError: the word stands for no place; the message has ``where``.
        """
        place, at, file = word.partition("@")
        file = self._file(file, where) if at else donor.file
        marked, colon, place = place.rpartition(":")
        kind = self._taking(marked, donor, where) if colon else donor.type
        if "-" in place:
            first, last = (int(line) for line in place.split("-"))
            rules = self._rules.get((kind, file), [])
            begin = bisect_left(rules, first, key=_line)
            names = [rule.name for rule in rules[begin : bisect_right(rules, last, key=_line)]]
            known = bool(names) or any(k is kind for k in self._retired.values())
        else:
            prefix = "" if kind is RuleType.STATEMENT else kind
            name = f"{prefix}_{file}_{place}"
            names = [name] if name in self._grammar else []
            known = bool(names) or name in self._retired
        if not known:
            held = dict.fromkeys(str(_line(rule)) for rule in self._rules.get((kind, file), []))
            raise UserError(
                f"there is no rule of type {kind} at {place} of {file}",
                where=where,
                hint=f"lines that hold a rule of that type: {listed([*held])}"
                if held
                else f"no line of {file} holds a rule of that type: take it out",
            )
        yield from names

    def _taking(self, marked: str, donor: Rule, where: str) -> RuleType:
        others = self._reach.others(donor)
        found = next((kind for kind in others if kind == marked), None)
        if found is None:
            raise UserError(
                f"a rule of type {donor.type} cannot go to one of type {marked}",
                where=where,
                hint=f"it can go to: {', '.join((donor.type, *others))}",
            )
        return found

    def _file(self, file: str, where: str) -> str:
        known = self._grammar.source.names
        if file not in known:
            raise UserError(
                f"there is no file {file!r} in this source",
                where=where,
                hint=f"its files: {', '.join(known)}",
            )
        return file
