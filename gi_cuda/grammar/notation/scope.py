"""The ``.scope`` notation: for each variable rule, the places it may be copied to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from gi_cuda.errors import UserError
from gi_cuda.grammar.grammar import Changes, Grammar
from gi_cuda.grammar.kinds import DONOR_TYPES, SPECIAL_TYPES, type_of
from gi_cuda.grammar.model import Rule, RuleType

_HEADER = """\
# Scope of {name}: for each variable rule the places it may be copied to, which are rules of its
# own type, by line (of another file: line@file). Taking a place out forbids it, putting one in
# allows it.
"""


def write_scope(grammar: Grammar) -> str:
    """One line a variable rule: the places it may go to under some configuration."""
    lines = [_HEADER.format(name=grammar.source.name)]
    table = places_of_all(grammar)
    by_type = _by_type(grammar)
    spelled: dict[tuple[RuleType, str, frozenset[str]], str] = {}
    for rule in grammar.rules:
        if rule.type in SPECIAL_TYPES:
            continue
        places = frozenset(table[rule.name] | {rule.name})
        key = rule.type, rule.file, places  # donors of one kind go to the same places
        if key not in spelled:
            words = list(_ranges(by_type[rule.type], places, rule.file))
            for kind in TAKING[rule.type]:
                words += (f"{kind}:{w}" for w in _ranges(by_type.get(kind, ()), places, rule.file))
            spelled[key] = " ".join(words)
        lines.append(f"<{rule.name}>: {spelled[key]}".rstrip() + "\n")
    return "".join(lines)


TAKING: dict[RuleType, tuple[RuleType, ...]] = {
    donor: tuple(place for place in RuleType if place is not donor and donor in DONOR_TYPES[place])
    for donor in RuleType
}
"""By type of donor, the types of places other than its own that take it."""


def places_of_all(grammar: Grammar) -> dict[str, set[str]]:
    """For each variable rule, the places that it may go to under some configuration."""
    table: dict[str, set[str]] = {rule.name: set() for rule in grammar.rules}
    for rule in grammar.rules:
        if rule.type not in SPECIAL_TYPES:
            for donor in grammar.donors(rule.name):
                table[donor].add(rule.name)
    return table


def _by_type(grammar: Grammar) -> dict[RuleType, list[Rule]]:
    found: dict[RuleType, list[Rule]] = {}
    for rule in grammar.rules:
        found.setdefault(rule.type, []).append(rule)
    return found


def _ranges(rules: Sequence[Rule], allowed: Set[str], home: str) -> Iterator[str]:
    """Places as few words, those of the file ``home`` first; others are marked with theirs."""
    by_file: dict[str, list[Rule]] = {home: []}
    for rule in rules:
        by_file.setdefault(rule.file, []).append(rule)
    for file, found in by_file.items():
        mark = "" if file == home else f"@{file}"
        yield from (word + mark for word in _ranges_of_file(found, allowed))


def _ranges_of_file(rules: Sequence[Rule], allowed: Set[str]) -> Iterator[str]:
    """Runs of lines on which every rule of the type is allowed, and single places."""
    lines = [(line, list(found)) for line, found in groupby(rules, key=lambda rule: rule.line)]
    for full, run in groupby(lines, key=lambda entry: all(r.name in allowed for r in entry[1])):
        entries = list(run)
        first, last = entries[0][0], entries[-1][0]
        if full and (first < last or len(entries[0][1]) > 1):
            yield f"{first}-{last}"
            continue
        for _, found in entries:
            yield from (_point(rule) for rule in found if rule.name in allowed)


def _point(rule: Rule) -> str:
    return rule.name.rpartition("_")[2]


@cache
def _parser() -> Lark:
    grammar = files("gi_cuda.grammar.notation").joinpath("scope.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr")


def read_scope(text: str, grammar: Grammar, retired: Mapping[str, RuleType], name: str) -> Changes:
    """What a scope file grants and forbids beside what the front end allows.

    Args:
        retired: rules of the source that the grammar no longer has; places and donors that name
            them are passed over.
        name: what errors call the file.

    Raises:
        UserError: at file and line: not in the notation, or a rule that there is not.
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise UserError(
            "this is not a line of a scope file",
            where=f"{name}:{max(error.line, 1)}",
            hint="a line looks like: <rule>: 119-126 140 152.2",
        ) from error
    allowed: set[tuple[str, str]] = set()
    reader = _Reader(grammar, _by_type(grammar), retired)
    for entry in tree.children:
        assert isinstance(entry, Tree)
        symbol, *words = (token for token in entry.children if isinstance(token, Token))
        donor, where = symbol[1:-1], f"{name}:{symbol.line}"
        _check_donor(donor, grammar, retired, where)
        if donor in retired:
            continue
        for word in words:
            for place in reader.places(word, grammar.rule(donor), where):
                if place != donor:
                    allowed.add((donor, place))
    static = {(d, place) for d, places in places_of_all(grammar).items() for place in places}
    return Changes(frozenset(allowed - static), frozenset(static - allowed))


def _check_donor(donor: str, grammar: Grammar, retired: Mapping[str, RuleType], where: str) -> None:
    kind = retired.get(donor)
    if kind is None and any(rule.name == donor for rule in grammar.rules):
        kind = type_of(donor)
    if kind is None or kind in SPECIAL_TYPES:
        raise UserError(
            f"there is no variable rule <{donor}>", where=where, hint="see the .bnf for its rules"
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Finds the places that words of a scope file mean."""

    grammar: Grammar
    by_type: Mapping[RuleType, Sequence[Rule]]
    retired: Mapping[str, RuleType]

    def places(self, word: str, donor: Rule, where: str) -> Iterator[str]:
        """The places that a word on a donor's line means.

        Raises:
            UserError: it means none, at ``where``.
        """
        place, at, file = word.partition("@")
        file = self._file(file, where) if at else donor.file
        marked, colon, place = place.rpartition(":")
        kind = self._taking(marked, donor, where) if colon else donor.type
        if "-" in place:
            first, last = (int(line) for line in place.split("-"))
            found = (rule for rule in self.by_type.get(kind, ()) if rule.file == file)
            names = [rule.name for rule in found if first <= rule.line <= last]
            known = bool(names) or any(k is kind for k in self.retired.values())
        else:
            prefix = "" if kind is RuleType.STATEMENT else kind
            name = f"{prefix}_{file}_{place}"
            names = [rule.name for rule in self.by_type.get(kind, ()) if rule.name == name]
            known = bool(names) or name in self.retired
        if not known:
            raise UserError(
                f"there is no rule of type {kind} at {place} of {file}",
                where=where,
                hint="places are lines of the source that hold a rule of that type",
            )
        yield from names

    def _taking(self, marked: str, donor: Rule, where: str) -> RuleType:
        if marked not in TAKING[donor.type]:
            raise UserError(
                f"a rule of type {donor.type} cannot go to one of type {marked}",
                where=where,
                hint=f"it can go to: {', '.join((donor.type, *TAKING[donor.type]))}",
            )
        return RuleType(marked)

    def _file(self, file: str, where: str) -> str:
        known = self.grammar.source.names
        if file not in known:
            raise UserError(
                f"there is no file {file!r} in this source",
                where=where,
                hint=f"its files: {', '.join(known)}",
            )
        return file
