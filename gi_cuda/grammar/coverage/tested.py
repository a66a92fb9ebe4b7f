"""A filter on a grammar's operations, for searches.

A search is not offered operations that no test case covers, operations that may leave a local
variable unset or a loop without end, and rule types that cannot make code faster on its back end.

Genotypes that a user reads or writes are parsed with the unfiltered rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from gi_cuda.grammar.coverage.untested import Untested
from gi_cuda.grammar.interface import Rules, Selection
from gi_cuda.grammar.rule_types import Operation, RuleType

DROPS = (Operation.DELETE, Operation.REPLACE)
"""The operations that remove a rule's own text."""

LeftOut: TypeAlias = Mapping[str, Collection[Operation]]
"""The operations that are left out, by name of the rule."""

_NONE: LeftOut = MappingProxyType({})


def only_tested(
    rules: Rules,
    untested: Untested,
    needed: LeftOut = _NONE,
    idle: Collection[RuleType] = (),
) -> Rules:
    """Return the rules with only the operations that some test case covers.

    Args:
        rules: the rules to filter.
        untested: the operations that no test case covers.
        needed: further operations to leave out, as :meth:`.ParsedText.needed` returns them.
        idle: rule types that must not change; all operations on their rules, and on rules nested
            in those, are left out.
    """
    left_out = {name: set(one.operations) for name, one in untested.rules.items()}
    for name, operations in needed.items():
        left_out.setdefault(name, set()).update(operations)
    for name in _within(rules, idle):
        left_out.setdefault(name, set()).update(Operation)
    if not left_out:
        return rules
    return _Tested(rules.source, rules.rules, rules.loops, rules.specials, rules, left_out)


def _within(rules: Rules, types: Collection[RuleType]) -> Iterator[str]:
    """Yield the names of the rules of some types, and of the rules nested in them."""
    spans = [(rule.start, rule.end) for rule in rules.rules if rule.type in types]
    for rule in rules.rules:
        inside = any(start <= rule.start < rule.end <= end for start, end in spans)
        if rule.type in types or inside:
            yield rule.name


class _TestedSelection:
    """A selection without some operations."""

    def __init__(self, whole: Selection, left_out: LeftOut) -> None:
        self._whole, self._left_out = whole, left_out
        self._operations: dict[str, tuple[Operation, ...]] = {}
        self.mutable = tuple(
            name for name in whole.mutable if name not in left_out or self.operations(name)
        )

    def donors(self, place: str) -> tuple[str, ...]:
        return self._whole.donors(place)

    def count(self, place: str) -> int:
        return self._whole.count(place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        found = self._operations.get(place)
        if found is None:
            left_out = self._left_out.get(place, ())
            offered = self._whole.operations(place)
            found = self._operations[place] = tuple(one for one in offered if one not in left_out)
        return found


@dataclass(frozen=True)
class _Tested(Rules):
    """Rules without some operations.

    Attributes:
        whole: the unfiltered rules.
        left_out: the operations to leave out.
    """

    whole: Rules = field(repr=False)
    left_out: LeftOut = field(repr=False)

    @cached_property
    def _views(self) -> dict[int, tuple[Selection, Selection]]:
        return {}

    @cached_property
    def _offered(self) -> Selection:
        return _TestedSelection(self.whole, self.left_out)

    def donors(self, place: str) -> tuple[str, ...]:
        return self.whole.donors(place)

    def count(self, place: str) -> int:
        return self.whole.count(place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        return self._offered.operations(place)

    def under(self, macros: Mapping[str, str]) -> Selection:
        return self._tested(self.whole.under(macros))

    def under_any(self, macros: Mapping[str, str]) -> Selection:
        return _TestedSelection(self.whole.under_any(macros), self.left_out)

    def _tested(self, view: Selection) -> Selection:
        """Return the filtered view of a view, cached by identity: grammars keep their views."""
        if view is self.whole:
            return self
        if id(view) not in self._views:
            self._views[id(view)] = view, _TestedSelection(view, self.left_out)
        return self._views[id(view)][1]
