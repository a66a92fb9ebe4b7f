"""One source that is many variants: a mutant schema (Untch, Offutt and Harrold, "Mutation analysis
using mutant schemata", ISSTA 1993).

Wherever variants differ it holds what each of them has there, and which of it runs is decided by a
number that is read as it runs. So it is compiled once for all of them. It answers as they do, but
takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gi_cuda.grammar.frontends.cuda.render import edits, without_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion, Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, newline, opening, replacing, splice
from gi_cuda.grammar.values import Type

CHOSEN = "gi_chosen"
"""What holds the variant's number. The back ends supply it."""

_SILENT = frozenset({RuleType.PRAGMA, RuleType.RESTRICT, RuleType.BOUNDS})
"""Rules that say how fast a program is, not what it answers."""
_NO_PLACE = _SILENT | {RuleType.ELSE, RuleType.SEAM}
"""Rules in which nothing is chosen as a whole."""
_AROUND = frozenset({RuleType.ELSE, RuleType.LOOP})
"""Rules around which something is put, since others may be chosen within."""
_HEADERS = frozenset({RuleType.FOR1, RuleType.FOR3})
_TRIPLE = Type("dim3")
"""What ``threadIdx`` and ``blockDim`` are taken for; neither of their types is better than the
other where one of the two is chosen."""


def unchosen(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> Mapping[str, Expansion] | None:
    """Those of a variant's expansions that cannot be chosen as it runs: of a declaration, or of a
    number that is in no other rule, such as an array's size. None where it can be in no schema:
    which loops there are cannot be chosen, nor a declaration within what can."""
    found = {}
    for name, expansion in expansions.items():
        rule, apart = grammar.rule(name), _place(grammar, name) == name
        if rule.type is RuleType.SEAM or (grammar.facts[name].declares and not apart):
            return None
        if grammar.facts[name].declares or (rule.type is RuleType.NUMBER and apart):
            found[name] = expansion
    return found


def telling(grammar: Grammar, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
    """Those of a variant's expansions that may change what it answers."""
    return {name: one for name, one in expansions.items() if grammar.rule(name).type not in _SILENT}


def schema(grammar: Grammar, variants: Sequence[Mapping[str, Expansion]]) -> str:
    """A text that is each of the variants, by number from 1, and with any other number what they
    have in common: what all of several have at a place is not chosen, for that takes a compiler
    longer than what makes one of them. Loops have no guards.

    Args:
        variants: all of them with the same expansions that cannot be chosen.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    fixed = (unchosen(grammar, variants[0]) or {}) if variants else {}
    places: dict[str, dict[str, list[int]]] = {}
    for number, expansions in enumerate(variants, 1):
        for name, own in _by_place(grammar, expansions, fixed).items():
            written = _written(grammar, grammar.rule(name), own)
            places.setdefault(name, {}).setdefault(written, []).append(number)
    splices = edits(grammar, fixed)
    for name, alternatives in places.items():
        place, (first, *others) = grammar.rule(name), alternatives
        common = not others and len(alternatives[first]) == len(variants) > 1
        if common and place.type not in _AROUND:
            splices.append(replacing(place.start, place.end, _instead(grammar, place, first)))
        else:
            splices += _chosen(grammar, place, alternatives)
    return splice(grammar.source.text, splices)


def _by_place(
    grammar: Grammar, expansions: Mapping[str, Expansion], fixed: Mapping[str, Expansion]
) -> Mapping[str, Mapping[str, Expansion]]:
    """The expansions that make a difference, by the place where it is chosen between variants: the
    outermost rule that they are a part of, since in a whole statement each type is what it is in
    the variant. An ``else`` is none, for that may hold all the rest of a function. What is fixed is
    left out, and what is within that: it is no longer there."""
    found: dict[str, dict[str, Expansion]] = {}
    gone = without_text(fixed)
    for name, expansion in telling(grammar, expansions).items():
        if name in fixed or not gone.isdisjoint(grammar.holders[name]):
            continue
        found.setdefault(_place(grammar, name), {})[name] = expansion
    return found


def _place(grammar: Grammar, name: str) -> str:
    around = [
        rule
        for rule in map(grammar.rule, grammar.holders[name])
        if rule.type not in _NO_PLACE and not grammar.facts[rule.name].declares
    ]
    return min(around, key=lambda rule: (rule.start, -rule.end)).name if around else name


def _written(grammar: Grammar, place: Rule, own: Mapping[str, Expansion]) -> str:
    """What a variant has at a place."""
    if own.get(place.name) == Expansion((), ""):
        return place.type.kind.deleted or ""
    moved = (
        one._replace(start=one.start - place.start, end=one.end - place.start)
        for one in edits(grammar, own)
    )
    return splice(grammar.source.text[place.start : place.end], moved)


def _chosen(
    grammar: Grammar, place: Rule, alternatives: Mapping[str, list[int]]
) -> Iterator[Splice]:
    """What a schema has at a place, given what some variants have there, by their numbers."""
    start, end, text = place.start, place.end, grammar.source.text
    tests = {
        written: " || ".join(f"{CHOSEN} == {number}u" for number in numbers)
        for written, numbers in alternatives.items()
    }
    if place.type is RuleType.STATEMENT:
        chain = "".join(f"if ({test}) {{ {one} }} else " for one, test in tests.items())
        yield replacing(start, end, f"{{ {chain}{{ {text[start:end]} }} }}")
    elif place.type is RuleType.LOOP:  # a pragma may follow
        chain = "".join(f"if ({test}) {{ {one} }} " for one, test in tests.items())
        yield opening(start, end, chain.rstrip() + newline(text, start))
    elif place.type is RuleType.ELSE:
        word = len("else")
        chain = "".join(f"if ({test}) {{ {one[word:]} }} else " for one, test in tests.items())
        yield replacing(start, start + word, f"else {{ {chain}{{ ")
        yield closing(start, end, " } }")
    else:
        values = {one: _value(grammar, place, one) for one in (*tests, text[start:end])}
        tested = "".join(f"({test}) ? {values[one]} : " for one, test in tests.items())
        yield replacing(start, end, f"({tested}{values[text[start:end]]})")


def _instead(grammar: Grammar, place: Rule, written: str) -> str:
    """What stands at a place where all variants have the same."""
    if place.type is RuleType.STATEMENT:
        return f"{{ {written} }}"
    return f"({_value(grammar, place, written)})"


def _value(grammar: Grammar, place: Rule, written: str) -> str:
    """What stands at a place as something that can be chosen."""
    if place.type in _HEADERS:
        return f"(void)({written or 0})"
    if place.type.kind.condition:
        return f"(bool)({written or 1})"
    value = grammar.facts[place.name].value
    if value is not None and value.type.value == _TRIPLE:
        return f"{_TRIPLE.base}({written})"
    return f"({written})"
