"""The ``.scope`` notation: for each variable rule, the places it may be copied to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
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
# own type, by line. Taking a place out forbids it, putting one in allows it.
"""


def write_scope(grammar: Grammar) -> str:
    """One line a variable rule: the places it may go to under some configuration."""
    lines = [_HEADER.format(name=grammar.source.name)]
    table = places_of_all(grammar)
    by_type = _by_type(grammar)
    spelled: dict[tuple[RuleType, frozenset[str]], str] = {}
    for rule in grammar.rules:
        if rule.type in SPECIAL_TYPES:
            continue
        places = frozenset(table[rule.name] | {rule.name})
        key = rule.type, places  # donors of one kind go to the same places
        if key not in spelled:
            words = list(_ranges(by_type[rule.type], places))
            for kind in TAKING[rule.type]:
                words += (f"{kind}:{w}" for w in _ranges(by_type.get(kind, ()), places))
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


def _ranges(rules: Sequence[Rule], allowed: Set[str]) -> Iterator[str]:
    """Places as few words: runs of lines on which every rule of the type is allowed."""
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
    by_type = _by_type(grammar)
    for entry in tree.children:
        assert isinstance(entry, Tree)
        symbol, *words = (token for token in entry.children if isinstance(token, Token))
        donor, where = symbol[1:-1], f"{name}:{symbol.line}"
        kind = _kind(donor, grammar, retired, where)
        if donor in retired:
            continue
        for word in words:
            for place in _places(word, kind, grammar, by_type, retired, where):
                if place != donor:
                    allowed.add((donor, place))
    static = {(d, place) for d, places in places_of_all(grammar).items() for place in places}
    return Changes(frozenset(allowed - static), frozenset(static - allowed))


def _kind(donor: str, grammar: Grammar, retired: Mapping[str, RuleType], where: str) -> RuleType:
    kind = retired.get(donor)
    if kind is None and any(rule.name == donor for rule in grammar.rules):
        kind = type_of(donor)
    if kind is None or kind in SPECIAL_TYPES:
        raise UserError(
            f"there is no variable rule <{donor}>", where=where, hint="see the .bnf for its rules"
        )
    return kind


def _places(
    word: str,
    kind: RuleType,
    grammar: Grammar,
    by_type: Mapping[RuleType, Sequence[Rule]],
    retired: Mapping[str, RuleType],
    where: str,
) -> Iterator[str]:
    marked, colon, place = word.rpartition(":")
    if colon:
        if marked not in TAKING[kind]:
            raise UserError(
                f"a rule of type {kind} cannot go to one of type {marked}",
                where=where,
                hint=f"it can go to: {', '.join((kind, *TAKING[kind]))}",
            )
        kind, word = RuleType(marked), place
    if "-" in word:
        first, last = (int(line) for line in word.split("-"))
        rules = [r.name for r in by_type.get(kind, ()) if first <= r.line <= last]
        known = bool(rules) or any(k is kind for k in retired.values())
    else:
        prefix = "" if kind is RuleType.STATEMENT else kind
        place = f"{prefix}_{grammar.source.name}_{word}"
        rules = [r.name for r in by_type.get(kind, ()) if r.name == place]
        known = bool(rules) or place in retired
    if not known:
        raise UserError(
            f"there is no rule of type {kind} at {word}",
            where=where,
            hint="places are lines of the source that hold a rule of that type",
        )
    yield from rules
