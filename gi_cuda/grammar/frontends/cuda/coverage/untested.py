"""Find the rules of a CUDA source that no test case covers, from its counters.

Statements and conditions have counters. The layout of the text tells about all other code: the
branch of an ``if`` that is never taken, the body of a loop that is never entered, and the rest of a
block with a statement that is never reached.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from gi_cuda.grammar.coverage.places import Outcome, Place
from gi_cuda.grammar.coverage.tested import DROPS
from gi_cuda.grammar.coverage.untested import Untested, UntestedRule, Why
from gi_cuda.grammar.frontends.cuda.rendering.guard import ends_with_condition
from gi_cuda.grammar.frontends.cuda.text.layout import Layout, Span
from gi_cuda.grammar.frontends.cuda.text.reading import bare_text
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Loop, Rule
from gi_cuda.grammar.rule_types import Operation, RuleType

_EVERYTHING = tuple(Operation)

_WITHOUT_EFFECT = frozenset({RuleType.PRAGMA, RuleType.RESTRICT, RuleType.BOUNDS})
"""Types of rules that never change results, so that no test case has to cover them."""


def untested(
    grammar: Grammar, names: Collection[str], places: Sequence[Place], seen: Collection[Place]
) -> Untested:
    """Return the operations on rules that no test case covers.

    Args:
        grammar: the grammar.
        names: names of the rules that were compiled.
        places: all places with counters.
        seen: the places whose counters some test case increased.
    """
    reading = _Reading(grammar, frozenset(places), frozenset(seen))
    found: dict[str, UntestedRule] = {}
    for rule, why, operations, line in reading.findings():
        if rule.name not in names or rule.type in _WITHOUT_EFFECT:
            continue
        earlier = found.get(rule.name)
        if earlier is not None:
            why, line = earlier.why, earlier.line
            operations = (*earlier.operations, *operations)
        offered = grammar.operations(rule.name)
        if several := tuple(one for one in offered if one in operations):
            found[rule.name] = UntestedRule(why, several, rule.file, line)
    return Untested({rule.name: found[rule.name] for rule in grammar.rules if rule.name in found})


Finding = tuple[Rule, Why, tuple[Operation, ...], int]


@dataclass(frozen=True)
class _Reading:
    """A source with the results of its counters.

    Attributes:
        grammar: the grammar of the source.
        places: all places with counters.
        seen: the places whose counters some test case increased.
    """

    grammar: Grammar
    places: frozenset[Place]
    seen: frozenset[Place]

    def findings(self) -> Iterator[Finding]:
        """Yield the operations that no test case covers; a rule may occur several times."""
        for rule in self._inside(self._dead):
            yield rule, Why.UNREACHED, _EVERYTHING, rule.line
        for rule in self._counted:
            if rule.type is RuleType.STATEMENT or rule.name not in self._reached:
                continue
            within = list(self._inside([(rule.start, rule.end)]))
            if Place(rule.name, Outcome.TRUE) not in self.seen:
                yield from ((one, Why.NEVER_TRUE, _EVERYTHING, one.line) for one in within)
            elif Place(rule.name, Outcome.FALSE) not in self.seen:
                # Deleted, or with a further conjunct, the condition is false; test cases notice.
                for one in within:
                    what = (Operation.REPLACE,) if one is rule else DROPS
                    yield one, Why.NEVER_FALSE, what, one.line
        for loop in self.grammar.loops:
            yield from self._of_loop(loop)

    def _of_loop(self, loop: Loop) -> Iterator[Finding]:
        """Yield the operations on a loop's header and steps that no test case covers."""
        start, end = loop.condition
        condition = list(self._inside([(start, end)]))
        if self._is_never_entered(loop):
            # If the body repeats earlier work, no test case notices that another start enters it.
            header = map(self.grammar.rule, loop.header)
            before = self._inside((one.start, one.end) for one in header if one.end <= start)
            for one in (*before, *condition):
                yield one, Why.NEVER_TRUE, _EVERYTHING, one.line
        if Place("", Outcome.AGAIN, loop.ident) not in self.places - self.seen:
            return
        if Place("", Outcome.TRUE, loop.ident) not in self.seen:
            return
        for one in condition:
            # Without its condition, a loop never ends or never runs; test cases notice.
            whole = (one.start, one.end) == loop.condition
            kept = (Operation.REPLACE, Operation.INSERT) if whole else _EVERYTHING
            yield one, Why.NEVER_AGAIN, kept, loop.line
        for name in loop.header | loop.assigned:
            one = self.grammar.rule(name)
            if name in loop.header and one.start > end:
                yield one, Why.NEVER_AGAIN, _EVERYTHING, loop.line
            elif self._steps(loop, one):
                for part in self._inside([(one.start, one.end)]):
                    yield part, Why.NEVER_AGAIN, DROPS, loop.line

    def _steps(self, loop: Loop, rule: Rule) -> bool:
        """Tell whether a rule is a statement that assigns a control variable of a loop."""
        assigns = self.grammar.facts[rule.name].assigns
        return rule.type is RuleType.STATEMENT and bool(assigns & loop.controls)

    # -- what the counts say -------------------------------------------------------------------

    @cached_property
    def _counted(self) -> list[Rule]:
        names = {place.rule for place in self.places if place.loop is None}
        return [rule for rule in self.grammar.rules if rule.name in names]

    @cached_property
    def _reached(self) -> frozenset[str]:
        return frozenset(place.rule for place in self.seen if place.loop is None)

    def _is_never_entered(self, loop: Loop) -> bool:
        """Tell whether no test case enters a loop's body."""
        return Place("", Outcome.TRUE, loop.ident) in self.places - self.seen and (
            not ends_with_condition(self.grammar, loop)
        )

    # -- where no case gets ----------------------------------------------------------------------

    @cached_property
    def _dead(self) -> list[Span]:
        """Spans of text that no test case reaches, merged so that none overlap."""
        alive = sorted(self.grammar.rule(name).start for name in self._reached)
        entered = (place.loop for place in self.seen if place.loop is not None)
        alive = sorted([*alive, *(self.grammar.loops[ident].start for ident in entered)])
        found: list[Span] = []
        for start, end in sorted(self._dead_by_layout()):
            # The layout may be misread: keep a span only if no counter in it was reached.
            if bisect_left(alive, start) == bisect_left(alive, end):
                if found and start <= found[-1][1]:
                    found[-1] = found[-1][0], max(end, found[-1][1])
                else:
                    found.append((start, end))
        return found

    def _dead_by_layout(self) -> Iterator[Span]:
        told = 0
        for rule in self._counted:
            if rule.name not in self._reached:
                yield rule.start, rule.end
                stands = rule.block and rule.type in (RuleType.STATEMENT, RuleType.IF)
                if stands and rule.start >= told:
                    in_line = self._layout.in_line(rule.start, self._last_before(rule.start))
                    told = in_line[1]
                    yield in_line
            if rule.type is RuleType.IF:
                outcomes = (Place(rule.name, one) for one in (Outcome.TRUE, Outcome.FALSE))
                never = [one not in self.seen for one in outcomes]
                if any(never):
                    yield from compress(self._layout.branches(rule.end), never)
        for loop in self.grammar.loops:
            if self._is_never_entered(loop):
                yield loop.condition[1] + 1, loop.end
        for function in self.grammar.functions:
            inside = bisect_left(self._ends, function.start) < bisect_left(self._ends, function.end)
            if inside and not function.kernel:  # a kernel is launched
                yield function.start, function.end

    def _last_before(self, at: int) -> int:
        """Return the end of the last counted statement that ends before an offset; 0 if none."""
        before = bisect_right(self._ends, at) - 1
        return self._ends[before] if before >= 0 else 0

    @cached_property
    def _ends(self) -> list[int]:
        return sorted(one.end for one in self._counted if one.type is RuleType.STATEMENT)

    @cached_property
    def _layout(self) -> Layout:
        return Layout(bare_text(self.grammar.source.text))

    # -- shared ----------------------------------------------------------------------------------

    def _inside(self, spans: Iterable[Span]) -> Iterator[Rule]:
        """Yield the rules that lie in one of the spans."""
        rules = self.grammar.rules
        for start, end in spans:
            first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
            yield from (rule for rule in rules[first:last] if rule.end <= end)

    @cached_property
    def _starts(self) -> list[int]:
        return [rule.start for rule in self.grammar.rules]
