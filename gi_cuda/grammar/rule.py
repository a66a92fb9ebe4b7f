"""Data classes of a grammar (Langdon et al., GECCO 2015, section 2.4 and figure 2)."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.grammar.rule_types import RuleType


@dataclass(frozen=True, slots=True)
class Seam:
    """A place for loop fusion or loop fission.

    Fusion: two neighbouring loops with equal headers meet there and can become one loop.
    Fission: one loop can be divided there into two loops with the same header.

    Attributes:
        loop: start of the loop with its pragma; for fusion, of the first of the two loops.
        header: span of the header that fusion removes or fission repeats, from its pragma to its
            ``)``.
        end: end of the loop; for fusion, of the second of the two loops.
        first: for fusion, span of the body of the first loop; None for fission.
        instead: for fusion, text that replaces the removed header: a declaration of the second
            loop's counter, if that has a name of its own; else empty.
        hidden: for fission, the names that cannot be used behind the place any more.
    """

    loop: int
    header: tuple[int, int]
    end: int
    first: tuple[int, int] | None = None
    instead: str = ""
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """A nonterminal of the grammar: a typed place in the source that edits may change.

    Attributes:
        name: e.g. ``_kernel.cu_126`` or ``for2_kernel.cu_415.2`` (no angle brackets).
        type: type of the rule; decides which donors may replace it.
        file: name of the file that contains the rule.
        line: 1-based line of that file on which the rule starts.
        start, end: span of the rule as character offsets into the source text; empty for a
            pragma, restrict or launch-bounds rule that the source does not spell out.
        function: name of the function that contains the rule.
        block: True if the rule is a statement directly in a ``{}`` block. Such a statement may
            vanish completely, and statements may be inserted before it without braces.
        sites: for ``optrestrict`` only: span of the keyword of each pointer parameter that the
            switch sets; an empty span where the keyword would be inserted.
        seam: for ``seam`` only: the loops that meet there or can be divided there.
        choices: for transformations only: names of the special donors that may go there.
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
        start, end: span of the replaced lines, as offsets into the source's text; empty if the
            patch only adds lines.
        text: the new lines.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that a guard can end after a number of iterations.

    Attributes:
        ident: number of the loop in its source, from 0.
        line: 1-based line of the loop's keyword.
        start, end: span of the whole loop statement, pragma line included.
        condition: span of its condition (empty where the source has none).
        header: names of the rules in its header (for1, for2, for3, WHILE).
        assigned: names of the rules in its header or body that assign a control variable, or
            decide whether a control variable is assigned.
        controls: control variables of the loop: the names that its condition reads, and the names
            from which the loop computes them.
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
    """The change that a variant makes to one rule: donors inserted before it, and its new body.

    Attributes:
        before: names of the donors inserted before the rule, in order. Before a statement they are
            separate statements; before a condition they are further conjuncts.
        body: name of the donor that replaces the rule's text; ``""`` if the rule is deleted; None
            if the rule keeps its text, with the changes of its nested rules.
    """

    before: tuple[str, ...] = ()
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function that evolves.

    Attributes:
        kernel: True if the function is a kernel.
        start, end: span of the function in the source text.
    """

    name: str
    kernel: bool
    start: int
    end: int
