"""The values a grammar is made of (Langdon et al., GECCO 2015, section 2.4 and figure 2)."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.grammar.rule_types import RuleType


@dataclass(frozen=True, slots=True)
class Seam:
    """Where two loops of one header meet, so that they can be one; or where a loop can be two.

    Attributes:
        loop: where the loop begins, with its pragma: the first of the two, or the one.
        header: span of the header that goes, or comes once more: from its pragma to its ``)``.
        end: where the second of the two ends, or the one.
        first: span of the body of the first of the two; None of one loop.
        instead: what comes in the place of the header that goes: the second counter, if it has a
            name of its own.
        hidden: of one loop, the names that cannot be used any more behind the place.
    """

    loop: int
    header: tuple[int, int]
    end: int
    first: tuple[int, int] | None = None
    instead: str = ""
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """One nonterminal: a typed place in the source that edits may change.

    Attributes:
        name: e.g. ``_kernel.cu_126`` or ``for2_kernel.cu_415.2`` (no angle brackets).
        type: what may replace it.
        file: name of the file it stands in.
        line: 1-based line of that file on which it starts.
        start, end: its span as character offsets into the source text; empty for a
            pragma, restrict or launch-bounds rule that the source does not spell out.
        function: the name of the function it stands in.
        block: whether it is a statement standing directly in a ``{}`` block, so that it may
            vanish altogether and take neighbours without braces.
        sites: for ``optrestrict`` only: where the keyword stands, or is to be put (an empty span),
            for each pointer parameter that the switch sets.
        seam: for ``seam`` only: what meets there, or can be made to.
        choices: for transformations only: the special donors that may go there.
    """

    name: str
    type: RuleType
    file: str
    line: int
    start: int
    end: int
    function: str
    block: bool = True
    sites: tuple[tuple[int, int], ...] = ()
    seam: Seam | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change that a patch makes to whole lines of a source.

    Attributes:
        start, end: the lines that it replaces, as offsets into the source's text; an empty span
            where it only adds lines.
        text: the lines that come in their place.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that a guard can end.

    Attributes:
        ident: number of the loop in its source, from 0.
        line: line of its keyword.
        start, end: span of the whole loop statement, pragma line included.
        condition: span of its condition (empty where the source has none).
        header: names of the rules in its header (for1, for2, for3, WHILE).
        assigned: names of the rules in its header or body that assign a control variable, or
            decide whether one is assigned.
        controls: its control variables: the names its condition reads, and those they are
            computed from within the loop.
    """

    ident: int
    line: int
    start: int
    end: int
    condition: tuple[int, int]
    header: frozenset[str]
    assigned: frozenset[str]
    controls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a variant makes of one rule: donors put before it, and perhaps a new body.

    Attributes:
        before: donors inserted before the rule, in order. For a statement they are statements
            of their own; for a condition they are further conjuncts in front of it.
        body: the donor that replaces the rule's own text, ``""`` where it is deleted, None where
            the rule's own text (with whatever its nested rules became) stays.
    """

    before: tuple[str, ...] = ()
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evolves: its name, whether it is a kernel, and its span."""

    name: str
    kernel: bool
    start: int
    end: int
