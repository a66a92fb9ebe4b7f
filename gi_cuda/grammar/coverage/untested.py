"""Rules of a source that no test case covers.

A change of such a rule gives the same results on all test cases, but may be wrong on other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gi_cuda.grammar.rule_types import Operation


class Why(StrEnum):
    """The reason why no test case covers a change of a rule."""

    UNREACHED = "unreached"
    NEVER_TRUE = "never true"
    NEVER_FALSE = "never false"
    NEVER_AGAIN = "never again"


@dataclass(frozen=True, slots=True)
class UntestedRule:
    """A rule with operations that no test case covers; ``str`` explains it in a sentence.

    Attributes:
        why: reason why no test case covers the operations.
        operations: the operations that no test case covers.
        file, line: start of the rule; for ``NEVER_AGAIN``, start of the loop.
    """

    why: Why
    operations: tuple[Operation, ...]
    file: str
    line: int

    def __str__(self) -> str:
        return _SENTENCES[self.why].format(one=self)


_SENTENCES = {
    Why.UNREACHED: "no case reaches {one.file}:{one.line}, where it changes something",
    Why.NEVER_TRUE: "no case makes the condition of {one.file}:{one.line} true, which it changes",
    Why.NEVER_FALSE: "no case makes the condition of {one.file}:{one.line} false, which it changes",
    Why.NEVER_AGAIN: (
        "no case takes the loop of line {one.line} round again, whose steps it changes"
    ),
}


@dataclass(frozen=True, slots=True)
class Untested:
    """The rules of a source with operations that no test case covers.

    Attributes:
        rules: the rules, by name.
        reason: the reason if the rules are unknown; "" if they are known.
    """

    rules: Mapping[str, UntestedRule] = field(default_factory=dict, hash=False)
    reason: str = ""

    def why(self, place: str, operation: Operation) -> UntestedRule | None:
        """Return the rule's record if no test case covers an operation on it, else None."""
        found = self.rules.get(place)
        return found if found and operation in found.operations else None
