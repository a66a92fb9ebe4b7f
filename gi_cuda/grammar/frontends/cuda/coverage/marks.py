"""Sources with marks: calls that record whether places are reached."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from gi_cuda.grammar.coverage.places import CountedText, Outcome, Place
from gi_cuda.grammar.frontends.cuda.rendering.guard import watched
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Function, Loop, Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, newline, opening, replacing, splice

_MARK = "gi_loop(0u, 1u)"
"""An expression that records that it is evaluated, and is true; the back ends define it."""

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def marked(grammar: Grammar, name: str) -> str:
    """Return the source with a mark that is reached when a rule is reached.

    A number or transformation has no place for a mark. Its mark is at the innermost rule that
    contains it, or else at the start of the function.

    Raises:
        KeyError: the grammar has no rule of that name.
    """
    rule = grammar.rule(name)
    if rule.type is RuleType.NUMBER or rule.type.kind.transforms:
        return splice(grammar.source.text, list(_mark_around(grammar, rule)))
    return splice(grammar.source.text, list(_mark(grammar, rule)))


def _mark_around(grammar: Grammar, number: Rule) -> Iterable[Splice]:
    around = [grammar.rule(name) for name in grammar.holders[number.name] - {number.name}]
    held = [one for one in around if one.type not in (RuleType.NUMBER, RuleType.SEAM)]
    held = [one for one in held if not one.type.kind.transforms]
    if held:
        return _mark(grammar, min(held, key=lambda one: one.end - one.start))
    function = _function_of(grammar, number)
    return [_at_the_beginning(grammar, function, function.start)]


def _mark(grammar: Grammar, rule: Rule) -> Iterable[Splice]:
    text = grammar.source.text
    start, end = rule.start, rule.end
    if rule.type.kind.condition:
        if start == end:
            return [replacing(start, end, _MARK)]
        return [opening(start, end, f"({_MARK} && ("), closing(start, end, "))")]
    if rule.type.kind.valued:
        own = text[start:end]
        return [replacing(start, end, f"({_MARK} ? ({own}) : ({own}))")]
    if rule.type is RuleType.FOR3:
        return [replacing(start, end, f"{_MARK}, {text[start:end]}" if start < end else _MARK)]
    if rule.type is RuleType.ELSE:
        return [
            replacing(start, start + len("else"), f"else {{ {_MARK};"),
            closing(start, end, " }"),
        ]
    if rule.type in (RuleType.RESTRICT, RuleType.BOUNDS):
        signature = max([start, *(site for site, _ in rule.sites)])
        return [_at_the_beginning(grammar, _function_of(grammar, rule), signature)]
    if rule.type in (RuleType.FOR1, RuleType.PRAGMA):
        loop = next(
            loop for loop in reversed(grammar.loops) if loop.start <= start and end <= loop.end
        )
        start, end = loop.start, loop.end
    elif rule.block:
        return [opening(start, end, f"{_MARK}; ")]
    before = f"{{ {_MARK};{newline(text, start)}"
    return [opening(start, end, before), closing(start, end, " }")]


def _function_of(grammar: Grammar, rule: Rule) -> Function:
    around = (one for one in grammar.functions if one.start <= rule.start <= one.end)
    return next(around, None) or next(f for f in grammar.functions if f.name == rule.function)


def _at_the_beginning(grammar: Grammar, function: Function, after: int) -> Splice:
    """Return a mark at the start of a function's body, behind the first brace after ``after``."""
    body = grammar.source.text.index("{", after, function.end) + 1
    return replacing(body, body, f" {_MARK};")


def marked_where_true(grammar: Grammar, name: str) -> str | None:
    """Return the source with a mark that is reached whenever a condition is true.

    Return None if the rule is not a condition, or has no text.

    Raises:
        KeyError: the grammar has no rule of that name.
    """
    rule = grammar.rule(name)
    if not rule.type.kind.condition or rule.start == rule.end:
        return None
    splices = [opening(rule.start, rule.end, "(("), closing(rule.start, rule.end, f") && {_MARK})")]
    return splice(grammar.source.text, splices)


def counted(grammar: Grammar, names: Collection[str]) -> CountedText:
    """Return the source with counters for all statements, conditions and loops.

    Each statement has one counter. Each condition of an ``if``, and each part of a condition, has
    one counter for true and one for false. Each loop has one counter for being entered and one for
    a further iteration. One text has all counters, so that one build suffices.

    Args:
        grammar: the grammar.
        names: names of the rules to count; rules of other types are ignored.
    """
    splices: list[Splice] = []
    places: list[Place] = []

    def call(place: Place) -> str:
        places.append(place)
        return f"gi_loop({len(places) - 1}u, "

    def mark(rule: Rule, outcome: Outcome) -> str:
        return f"{call(Place(rule.name, outcome))}1u)"

    for rule in grammar.rules:
        start, end = rule.start, rule.end
        if rule.name not in names or start == end:
            continue
        if rule.type in (RuleType.IF, RuleType.COND):
            either = f"{mark(rule, Outcome.TRUE)} : !{mark(rule, Outcome.FALSE)}"
            splices += [opening(start, end, "(("), closing(start, end, f") ? {either})")]
        elif rule.type is RuleType.STATEMENT:
            begin = f"{mark(rule, Outcome.REACHED)};"
            if rule.block:
                splices.append(opening(start, end, f"{begin} "))
            else:
                before = f"{{ {begin}{newline(grammar.source.text, start)}"
                splices += [opening(start, end, before), closing(start, end, " }")]
    compiled = {loop.ident for name in names for loop in grammar.loops_around[name]}
    for loop in grammar.loops:
        if loop.ident in compiled and _is_open(grammar, loop):
            entered = f"{call(Place('', Outcome.TRUE, loop.ident))}1u)"
            splices += watched(grammar, loop, entered, call(Place("", Outcome.AGAIN, loop.ident)))
    return CountedText(splice(grammar.source.text, splices), tuple(places))


def _is_open(grammar: Grammar, loop: Loop) -> bool:
    """Tell whether a loop's condition uses a name that is neither a macro nor assigned in the loop.

    The number of iterations of other loops is practically fixed, so they need no counters.
    """
    start, end = loop.condition
    names = set(_WORD.findall(grammar.source.text, start, end)) - grammar.macros
    assigning = (grammar.facts[name] for name in loop.assigned | loop.header)
    return bool(names.difference({"true", "false"}, *(facts.assigns for facts in assigning)))
