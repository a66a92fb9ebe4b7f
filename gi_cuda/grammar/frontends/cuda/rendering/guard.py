"""Guards: counters that end loops which an edit may keep from ending.

A variant that a guard stops counts as hung: without the guard, as in a patch, its loop would go on.
So a guard at its limit calls a function of the back end that ends the launch.
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
"""Largest number of iterations of a loop for which no limit is given."""

LATE = "gi_late"
"""Name of the function that a guard calls at its limit.

If ``gi_late`` is defined as ``bool``, a guard only leaves its loop.
"""

BEGIN = "gi_begin"
"""Name of the function that returns a counter's first value.

The compiler must not know this value: if it knew a bound of the iterations, ``#pragma unroll``
would copy the loop's body that many times.
"""


_LAST = re.compile(r"(?:#[^\n]*\n\s*)*do\b")


class _Shape(NamedTuple):
    """The form of a loop after the expansions.

    Attributes:
        condition: True if the loop has a condition.
        pragma: True if the loop starts with a pragma.
    """

    condition: bool
    pragma: bool


def touched_loops(grammar: Grammar, expansions: Mapping[str, Expansion]) -> frozenset[int]:
    """Return the idents of the loops that the expansions may keep from ending.

    These are the loops whose header changes, the loops in which a rule changes that assigns a
    control variable or decides whether it is assigned, the loops into which a donor comes that
    assigns a control variable, and the loops in donors' texts.
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
    """Return the loops in a donor's text; only the text of an ``else`` contains loops."""
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
    """Yield the splices that end each loop after ``limits[ident]`` iterations.

    Args:
        grammar: the grammar.
        loops: the loops to guard.
        expansions: the expansions of the loops' headers and seams, by rule name.
        limits: largest number of iterations of each loop, by ident.
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
    """Return the end of a loop after the expansions: that of the last loop fused with it."""
    touched = (grammar.rule(name).seam for name, one in expansions.items() if one.body == "")
    seams = {seam.loop: seam for seam in touched if seam is not None}
    start, end = loop.start, loop.end
    while start in seams:
        start, end = seams[start].header[0], seams[start].end
    return end


def _has_condition(grammar: Grammar, loop: Loop, expansions: Mapping[str, Expansion]) -> bool:
    """Tell whether a loop has a condition after the expansions."""
    for name in loop.header & expansions.keys():
        rule, expansion = grammar.rule(name), expansions[name]
        if (rule.start, rule.end) == loop.condition and not rule.type.kind.deleted:
            return expansion.body != "" or bool(expansion.before)
    return loop.condition[0] < loop.condition[1]


def _has_pragma(grammar: Grammar, loop: Loop, expansions: Mapping[str, Expansion]) -> bool:
    """Tell whether a loop starts with a pragma after the expansions."""
    for name, expansion in expansions.items():
        rule = grammar.rule(name)
        if rule.type is RuleType.PRAGMA and rule.start == loop.start:
            return bool(expansion.body)
    return grammar.source.text.startswith("#", loop.start)


def _wrap(
    grammar: Grammar, loop: Loop, counter: str, begin: str, test: str, shape: _Shape
) -> Iterator[Splice]:
    """Yield splices that declare a counter for a loop and add a test to its condition."""
    start, end = loop.condition
    yield from _around(grammar, loop, counter, begin, shape)
    if shape.condition:
        # One character wider than the condition, so outside of edits around the condition.
        yield opening(start, end + 1, "(")
        yield closing(start - 1, end, f") && {test}")
    else:
        yield closing(start - 1, end, test)


def _around(
    grammar: Grammar, loop: Loop, counter: str, begin: str, shape: _Shape
) -> Iterator[Splice]:
    """Yield splices that put a loop into a block that declares its counter."""
    gap = newline(grammar.source.text, loop.start) if shape.pragma else " "
    yield opening(loop.start, loop.end, f"{{ unsigned {counter} = {begin};{gap}")
    yield closing(loop.start, loop.end, " }")


def ends_with_condition(grammar: Grammar, loop: Loop) -> bool:
    """Tell whether a loop's condition is behind its body (``do``)."""
    return _LAST.match(grammar.source.text, loop.start) is not None


def watched(grammar: Grammar, loop: Loop, entered: str, again: str) -> Iterator[Splice]:
    """Yield splices that count whether a loop's body runs, and whether it runs once more.

    Args:
        grammar: the grammar.
        loop: the loop.
        entered: an expression that is true and counts that the body runs.
        again: start of a call that is true, up to its last argument. The call counts that the body
            runs once more if that argument is not 0.
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
    """Return the source with a counter of iterations in every loop of the functions that evolve.

    After each true condition, a loop calls ``gi_loop(ident, iterations so far)``. The back end
    defines this function, which returns true.
    """
    splices: list[Splice] = []
    for loop in grammar.loops:
        counter = f"gi_count_{loop.ident}"
        test = f"gi_loop({loop.ident}u, ++{counter})"
        shape = _Shape(_has_condition(grammar, loop, {}), _has_pragma(grammar, loop, {}))
        splices += _wrap(grammar, loop, counter, "0", test, shape)
    return splice(grammar.source.text, splices)
