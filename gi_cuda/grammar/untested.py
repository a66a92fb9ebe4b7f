"""What no case tests of a source: whatever a variant does there, the answers are the same. It is
right on all cases, and may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gi_cuda.grammar.rule_types import Operation


class Why(StrEnum):
    """Why no case tests what is done to a rule."""

    UNREACHED = "unreached"
    NEVER_TRUE = "never true"
    NEVER_FALSE = "never false"
    NEVER_AGAIN = "never again"


@dataclass(frozen=True, slots=True)
class UntestedRule:
    """What no case would show of what is done to a rule; ``str`` is a sentence of it.

    Attributes:
        why: that is so.
        operations: those that no case tests.
        file, line: where the rule begins; of a loop that no case takes round again, where that
            begins.
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
    """The rules of a source that no case tests, or not all that may be done to them.

    Attributes:
        rules: by name.
        reason: why it is not known which these are; "" where it is.
    """

    rules: Mapping[str, UntestedRule] = field(default_factory=dict, hash=False)
    reason: str = ""

    def why(self, place: str, operation: Operation) -> UntestedRule | None:
        """What stands against an operation; None where some case tests it."""
        found = self.rules.get(place)
        return found if found and operation in found.operations else None
