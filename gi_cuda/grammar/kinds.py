"""What each rule type allows: the one table that edits, rendering and checks share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from gi_cuda.grammar.rule import OPERAND_TYPES, RuleType


class Operation(StrEnum):
    """What an edit does to a rule (Langdon et al. 2015, section 2.3)."""

    DELETE = "delete"
    REPLACE = "replace"
    INSERT = "insert"


class Join(Enum):
    """How donors inserted before a rule and the rule's own text become one text."""

    NEVER = "nothing can be inserted"
    STATEMENTS = "a b"
    CONJUNCTION = "(a) && (b)"
    SEQUENCE = "a, b"
    OPERAND = "((a) && (b))"


@dataclass(frozen=True, slots=True)
class Kind:
    """One rule type's behaviour.

    Attributes:
        join: how inserted donors are joined with the rule's own text.
        deleted: what stands for a deleted rule; None where it cannot be deleted.
    """

    join: Join = Join.NEVER
    deleted: str | None = ""


KINDS: dict[RuleType, Kind] = {
    RuleType.STATEMENT: Kind(Join.STATEMENTS),
    RuleType.IF: Kind(Join.CONJUNCTION, "0"),
    RuleType.ELSE: Kind(),
    RuleType.FOR1: Kind(Join.SEQUENCE),
    RuleType.FOR2: Kind(Join.CONJUNCTION),
    RuleType.FOR3: Kind(Join.SEQUENCE),
    RuleType.PRAGMA: Kind(),
    RuleType.RESTRICT: Kind(),
    RuleType.BOUNDS: Kind(),
    RuleType.WHILE: Kind(Join.CONJUNCTION, "0"),
    RuleType.COND: Kind(Join.OPERAND, "0"),
    RuleType.RHS: Kind(deleted=None),
    RuleType.OP: Kind(deleted=None),
    RuleType.JUMP: Kind(Join.STATEMENTS, deleted=None),
    **dict.fromkeys(OPERAND_TYPES, Kind(deleted=None)),
}

_NEW_CONDITIONS = (RuleType.WHILE, RuleType.COND)
_CONDITIONS = (RuleType.IF, RuleType.FOR2, *_NEW_CONDITIONS)

DONOR_TYPES: dict[RuleType, tuple[RuleType, ...]] = {
    **{kind: (kind,) for kind in RuleType},
    RuleType.IF: (RuleType.IF, *_NEW_CONDITIONS),
    RuleType.FOR2: (RuleType.FOR2, *_NEW_CONDITIONS),
    **dict.fromkeys(_NEW_CONDITIONS, _CONDITIONS),
}
"""The types of the donors that a place takes: its own, and of conditions any.

What the paper's types take among themselves is as in the paper.
"""

SPECIALS: dict[str, str] = {
    "pragma_K": "#pragma unroll",
    **{f"pragma_K{n}": f"#pragma unroll {n}" for n in range(1, 12)},
    "optrestrict_K": "__restrict__",
    **{f"launchbounds_K{n}": f"__launch_bounds__({n})" for n in (64, 128, 256, 512, 1024)},
}
"""Donors that stand for no place in the source: unrolling, restrict, threads per block."""

SPECIAL_TYPES = frozenset({RuleType.PRAGMA, RuleType.RESTRICT, RuleType.BOUNDS})
"""Rule types whose only donors are special ones."""


def type_of(name: str) -> RuleType | None:
    """The type that a rule's or special donor's name tells; None if it tells none."""
    prefix, found, _ = name.partition("_")
    try:
        return RuleType(prefix or "_") if found else None
    except ValueError:
        return None
