"""Mutant schemata: one source that contains many variants.

See Untch, Offutt and Harrold, "Mutation analysis using mutant schemata", ISSTA 1993. At each place
where variants differ, the schema contains the text of each variant, and a number that is read at
run time selects one. So one compilation serves all variants. A schema gives the same results as its
variants, but runs more slowly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gi_cuda.grammar.frontends.cuda.rendering.render import edits, without_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion, Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, newline, opening, replacing, splice
from gi_cuda.grammar.values import Type

CHOSEN = "gi_chosen"
"""Name of the variable that holds the variant's number; the back ends define it."""

_SILENT = frozenset({RuleType.PRAGMA, RuleType.RESTRICT, RuleType.BOUNDS})
"""Types of rules that change a program's speed, but not its results."""
_NO_PLACE = _SILENT | {RuleType.ELSE, RuleType.SEAM}
"""Types of rules that are never selected as a whole."""
_AROUND = frozenset({RuleType.ELSE, RuleType.LOOP})
"""Types of rules whose text stays in place, because rules within them may be selected."""
_HEADERS = frozenset({RuleType.FOR1, RuleType.FOR3})
_TRIPLE = Type("dim3")
"""Common type of ``threadIdx`` and ``blockDim``: their own types differ, so ``?:`` needs a cast."""


def unchosen(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> Mapping[str, Expansion] | None:
    """Return the expansions of a variant that cannot be selected at run time.

    These are the expansions of declarations, and of numbers that are in no other rule, for example
    an array's size. Return None if the variant can be in no schema: loop fusion and fission cannot
    be selected, nor can a declaration inside another rule.
    """
    found = {}
    for name, expansion in expansions.items():
        rule, apart = grammar.rule(name), _place(grammar, name) == name
        if rule.type is RuleType.SEAM or (grammar.facts[name].declares and not apart):
            return None
        if grammar.facts[name].declares or (rule.type is RuleType.NUMBER and apart):
            found[name] = expansion
    return found


def telling(grammar: Grammar, expansions: Mapping[str, Expansion]) -> Mapping[str, Expansion]:
    """Return the expansions of a variant that may change its results."""
    return {name: one for name, one in expansions.items() if grammar.rule(name).type not in _SILENT}


def schema(grammar: Grammar, variants: Sequence[Mapping[str, Expansion]]) -> str:
    """Return a text that contains several variants and selects one by its number, from 1.

    With any other number, only the changes common to all variants are in effect. A change that all
    of several variants have at a place is not selected at run time, to save compile time. Loops
    have no guards.

    Args:
        grammar: the grammar.
        variants: the expansions of each variant; all variants have the same expansions that cannot
            be selected.

    Raises:
        KeyError: the grammar does not have one of the rules or donors.
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
    """Group the expansions that may change results by the place at which variants are selected.

    The place is the outermost rule that contains an expansion's rule, so that types in a whole
    statement are as in the variant. An ``else`` is not such a place, because it may contain the
    rest of a function. Fixed expansions, and expansions inside replaced text, are left out.
    """
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
    """Return a variant's text at a place."""
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
    """Yield the splices that select between several texts at a place.

    Args:
        grammar: the grammar.
        place: the rule of the place.
        alternatives: numbers of the variants that have each text.
    """
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
    """Return the text at a place where all variants have the same text."""
    if place.type is RuleType.STATEMENT:
        return f"{{ {written} }}"
    return f"({_value(grammar, place, written)})"


def _value(grammar: Grammar, place: Rule, written: str) -> str:
    """Return a text at a place as an operand of ``?:``."""
    if place.type in _HEADERS:
        return f"(void)({written or 0})"
    if place.type.kind.condition:
        return f"(bool)({written or 1})"
    value = grammar.facts[place.name].value
    if value is not None and value.type.value == _TRIPLE:
        return f"{_TRIPLE.base}({written})"
    return f"({written})"
