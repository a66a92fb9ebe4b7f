"""The values a grammar is made of (Langdon et al., GECCO 2015, section 2.4 and figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class RuleType(StrEnum):
    """What a rule stands for in the source; its value is the prefix of the rule's name."""

    STATEMENT = "_"
    IF = "IF"
    ELSE = "ELSE"
    FOR1 = "for1"
    FOR2 = "for2"
    FOR3 = "for3"
    PRAGMA = "pragma"
    RESTRICT = "optrestrict"
    BOUNDS = "launchbounds"
    WHILE = "WHILE"
    COND = "COND"
    RHS = "rhs"
    OP = "op"
    JUMP = "jump"
    PRED = "pred"
    B16 = "b16"
    B32 = "b32"
    B64 = "b64"
    F32 = "f32"
    F64 = "f64"
    IMM = "imm"


PAPER_TYPES = frozenset(
    {
        RuleType.STATEMENT,
        RuleType.IF,
        RuleType.ELSE,
        RuleType.FOR1,
        RuleType.FOR2,
        RuleType.FOR3,
        RuleType.PRAGMA,
        RuleType.RESTRICT,
        RuleType.BOUNDS,
    }
)
"""The nine rule types of the BarraCUDA paper."""

ALL_TYPES = PAPER_TYPES | {RuleType.WHILE, RuleType.COND, RuleType.RHS, RuleType.OP}
"""Those, and the types with which source edits say what IR-level evolution found."""

OPERAND_TYPES = frozenset(
    {
        RuleType.PRED,
        RuleType.B16,
        RuleType.B32,
        RuleType.B64,
        RuleType.F32,
        RuleType.F64,
        RuleType.IMM,
    }
)
"""What PTX instructions read: registers by the type that they are declared with, and literals."""

PTX_TYPES = OPERAND_TYPES | {RuleType.STATEMENT, RuleType.JUMP}
"""The types of PTX: instructions are statements; before a jump something may be inserted."""

EDIT_SETS: dict[str, frozenset[RuleType]] = {"paper": PAPER_TYPES, "full": ALL_TYPES}
"""The rule types that a grammar may be asked for, by name."""


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A stretch of a source's text that is one of a file, from the start of a line on.

    Attributes:
        file: the file's name, as rules are named after it.
        line: the line of the file (from 1) on which the stretch starts.
        start, end: the stretch, as offsets into the source's text.
    """

    file: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source: its name (as rules are named after it) and its whole text.

    The text is decoded so that encoding it again gives the file back byte for byte
    (UTF-8 with ``surrogateescape``, line ends untouched).

    A source of several files has the text of its headers where they are included; what lies
    between two parts belongs to no file (see :mod:`gi_cuda.grammar.frontends.cuda.several`).

    Attributes:
        name: the name of the (main) file.
        text: what is read, changed and compiled.
        parts: in order, which file each stretch of the text is from; empty for one single file.
    """

    name: str
    text: str
    parts: tuple[FileSpan, ...] = ()

    @property
    def stretches(self) -> tuple[FileSpan, ...]:
        """The parts, also of a source of one file."""
        return self.parts or (FileSpan(self.name, 1, 0, len(self.text)),)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its files, the main one first."""
        return tuple(dict.fromkeys((self.name, *(part.file for part in self.parts))))

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, as it stands on disk, by the file's name."""
        texts: dict[str, list[str]] = {name: [] for name in self.names}
        for part in self.stretches:
            texts[part.file].append(self.text[part.start : part.end])
        return {name: "".join(pieces) for name, pieces in texts.items()}

    def with_texts(self, texts: Sequence[str]) -> Source:
        """The same with another text for each of :attr:`stretches`, in their order."""
        pieces: list[str] = []
        parts: list[FileSpan] = []
        length = before = 0
        for part, text in zip(self.stretches, texts, strict=True):
            start = length + part.start - before
            length = start + len(text)
            pieces += [self.text[before : part.start], text]
            parts.append(FileSpan(part.file, part.line, start, length))
            before = part.end
        pieces.append(self.text[before:])
        return Source(self.name, "".join(pieces), tuple(parts) if self.parts else ())


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
