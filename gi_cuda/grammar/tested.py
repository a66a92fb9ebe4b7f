"""Rules without the operations that no case tests: what a search is offered, so that it sells none.

What a user reads or writes is read with all rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gi_cuda.grammar.interface import Rules, Selection
from gi_cuda.grammar.rule_types import Operation
from gi_cuda.grammar.untested import Untested


def only_tested(rules: Rules, untested: Untested) -> Rules:
    """The rules with those operations alone that some case tests."""
    if not untested.rules:
        return rules
    return _Tested(rules.source, rules.rules, rules.loops, rules.specials, rules, untested)


class _TestedSelection:
    """What a selection offers and some case tests."""

    def __init__(self, whole: Selection, untested: Untested) -> None:
        self._whole, self._untested = whole, untested
        touched = untested.rules
        self.mutable = tuple(
            name for name in whole.mutable if name not in touched or self.operations(name)
        )

    def donors(self, place: str) -> tuple[str, ...]:
        return self._whole.donors(place)

    def count(self, place: str) -> int:
        return self._whole.count(place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        offered = self._whole.operations(place)
        return tuple(one for one in offered if self._untested.why(place, one) is None)


@dataclass(frozen=True)
class _Tested(Rules):
    """Rules without the operations that no case tests.

    Attributes:
        whole: with them.
        untested: these.
    """

    whole: Rules = field(repr=False)
    untested: Untested = field(repr=False)

    @cached_property
    def _views(self) -> dict[int, tuple[Selection, Selection]]:
        return {}

    @cached_property
    def _offered(self) -> Selection:
        return _TestedSelection(self.whole, self.untested)

    def donors(self, place: str) -> tuple[str, ...]:
        return self.whole.donors(place)

    def count(self, place: str) -> int:
        return self.whole.count(place)

    def operations(self, place: str) -> tuple[Operation, ...]:
        return self._offered.operations(place)

    def under(self, macros: Mapping[str, str]) -> Selection:
        return self._tested(self.whole.under(macros))

    def under_any(self, macros: Mapping[str, str]) -> Selection:
        return _TestedSelection(self.whole.under_any(macros), self.untested)

    def _tested(self, view: Selection) -> Selection:
        """One for each view, which grammars keep."""
        if view is self.whole:
            return self
        if id(view) not in self._views:
            self._views[id(view)] = view, _TestedSelection(view, self.untested)
        return self._views[id(view)][1]
