"""Loops that an edit may keep from ending get a counter that ends them.

What such a counter ends counts as hung: without it, as in a patch, the loop would go on. So it
calls a function that back ends supply, and that ends the launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion, Loop, Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, closing, newline, opening, splice

UNSEEN_LIMIT = 1000
"""Iterations allowed to a loop for which no limit is given."""

LATE = "gi_late"
"""What is called at a limit. Defined as ``bool``, it makes a guard that just leaves its loop."""

BEGIN = "gi_begin"
"""What gives a counter its first value, which no compiler knows: to one that knew how often a loop
goes round at most, ``#pragma unroll`` would mean as many copies of its body."""


_LAST = re.compile(r"(?:#[^\n]*\n\s*)*do\b")


class _Shape(NamedTuple):
    """What a loop is like once the expansions are made."""

    condition: bool
    pragma: bool


def touched_loops(grammar: Grammar, expansions: Mapping[str, Expansion]) -> frozenset[int]:
    """Idents of the loops that the expansions may keep from ending.

    Those whose header changes; those in which a rule changes that assigns a control variable,
    or decides whether one is assigned; those into which a donor comes that assigns one; and
    those that come with a donor.
    """
    touched = set()
    for name, expansion in expansions.items():
        place = grammar.rule(name)
        donors = (*expansion.before, *((expansion.body,) if expansion.body else ()))
        for loop in grammar.loops_around[name]:
            if _touches(grammar, loop, place, expansion, donors):
                touched.add(loop.ident)
        for donor in donors:
            touched.update(loop.ident for loop in loops_in(grammar, donor))
    return frozenset(touched)


def _touches(
    grammar: Grammar, loop: Loop, place: Rule, expansion: Expansion, donors: Iterable[str]
) -> bool:
    if place.name in loop.header:
        return True
    if place.name in loop.assigned and (
        expansion.body is not None or place.type is not RuleType.STATEMENT
    ):
        return True
    facts = grammar.facts
    return any(donor in facts and facts[donor].assigns & loop.controls for donor in donors)


def loops_in(grammar: Grammar, donor: str) -> tuple[Loop, ...]:
    """The loops that a donor's text holds."""
    if donor in grammar.specials:
        return ()
    rule = grammar.rule(donor)
    if rule.type is not RuleType.ELSE:
        return ()
    return tuple(loop for loop in grammar.loops if rule.start < loop.start and loop.end <= rule.end)


def guards(
    grammar: Grammar,
    loops: Iterable[Loop],
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int],
) -> Iterator[Splice]:
    """What ends each loop after ``limits[ident]`` iterations.

    Args:
        expansions: what is made of the loops' headers, and of their seams.
    """
    for loop in loops:
        counter = f"gi_guard_{loop.ident}"
        test = f"({counter}++ < {limits.get(loop.ident, UNSEEN_LIMIT)} || {LATE}())"
        shape = _Shape(
            _has_condition(grammar, loop, expansions), _has_pragma(grammar, loop, expansions)
        )
        fused = replace(loop, end=_end(grammar, loop, expansions))
        yield from _wrap(grammar, fused, counter, f"{BEGIN}()", test, shape)


def _end(grammar: Grammar, loop: Loop, expansions: Mapping[str, Expansion]) -> int:
    """Where a loop ends once the expansions are made: with the last one that it is fused with."""
    touched = (grammar.rule(name).seam for name, one in expansions.items() if one.body == "")
    seams = {seam.loop: seam for seam in touched if seam is not None}
    start, end = loop.start, loop.end
    while start in seams:
        start, end = seams[start].header[0], seams[start].end
    return end


def _has_condition(grammar: Grammar, loop: Loop, expansions: Mapping[str, Expansion]) -> bool:
    """Whether the loop still has a condition once the expansions are made."""
    for name in loop.header & expansions.keys():
        rule, expansion = grammar.rule(name), expansions[name]
        if (rule.start, rule.end) == loop.condition and not rule.type.kind.deleted:
            return expansion.body != "" or bool(expansion.before)
    return loop.condition[0] < loop.condition[1]


def _has_pragma(grammar: Grammar, loop: Loop, expansions: Mapping[str, Expansion]) -> bool:
    """Whether the loop starts with a pragma once the expansions are made."""
    for name, expansion in expansions.items():
        rule = grammar.rule(name)
        if rule.type is RuleType.PRAGMA and rule.start == loop.start:
            return bool(expansion.body)
    return grammar.source.text.startswith("#", loop.start)


def _wrap(
    grammar: Grammar, loop: Loop, counter: str, begin: str, test: str, shape: _Shape
) -> Iterator[Splice]:
    """Give a loop a counter of its own and one more conjunct."""
    start, end = loop.condition
    yield from _around(grammar, loop, counter, begin, shape)
    if shape.condition:
        # One character wider than the condition: outside what an edit puts around it.
        yield opening(start, end + 1, "(")
        yield closing(start - 1, end, f") && {test}")
    else:
        yield closing(start - 1, end, test)


def _around(
    grammar: Grammar, loop: Loop, counter: str, begin: str, shape: _Shape
) -> Iterator[Splice]:
    """Give a loop a counter of its own, in a block around it."""
    gap = newline(grammar.source.text, loop.start) if shape.pragma else " "
    yield opening(loop.start, loop.end, f"{{ unsigned {counter} = {begin};{gap}")
    yield closing(loop.start, loop.end, " }")


def ends_with_condition(grammar: Grammar, loop: Loop) -> bool:
    """Whether a loop's condition stands behind its body."""
    return _LAST.match(grammar.source.text, loop.start) is not None


def watched(grammar: Grammar, loop: Loop, entered: str, again: str) -> Iterator[Splice]:
    """A loop that tells whether its body runs, and whether it runs once more.

    Args:
        entered: an expression that is true, and tells the first.
        again: the beginning of a call that is true, and tells the second where its last argument,
            which is still to be said, is not 0.
    """
    start, end = loop.condition
    if ends_with_condition(grammar, loop):
        yield opening(start, end + 1, f"({entered} && (")
        yield closing(start - 1, end, f")) && {again}1u)")
        return
    counter = f"gi_again_{loop.ident}"
    shape = _Shape(condition=True, pragma=_has_pragma(grammar, loop, {}))
    yield from _around(grammar, loop, counter, "0", shape)
    yield opening(start, end + 1, "(")
    yield closing(start - 1, end, f") && {entered} && {again}{counter}++)")


def instrument(grammar: Grammar) -> str:
    """The source with every loop of the evolved functions counting.

    After each true condition a loop calls ``gi_loop(ident, iterations so far)``, which the back
    end supplies and which returns true.
    """
    splices: list[Splice] = []
    for loop in grammar.loops:
        counter = f"gi_count_{loop.ident}"
        test = f"gi_loop({loop.ident}u, ++{counter})"
        shape = _Shape(_has_condition(grammar, loop, {}), _has_pragma(grammar, loop, {}))
        splices += _wrap(grammar, loop, counter, "0", test, shape)
    return splice(grammar.source.text, splices)
