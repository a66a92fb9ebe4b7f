"""Transformations as rules of a grammar: where they may be made, and the text that they leave."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gi_cuda.grammar.frontends.cuda.analysis import Analysis
from gi_cuda.grammar.frontends.cuda.findings import RuleDraft
from gi_cuda.grammar.frontends.cuda.transforms import FAMILIES
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import Splice, spliced

_BY_TYPE = {family.type: family for family in FAMILIES}


def add_sites(source: Source, analysis: Analysis, types: frozenset[RuleType]) -> None:
    """Add a rule for each site of the transformations among some types."""
    code = Code(source, analysis)
    for kind, family in _BY_TYPE.items():
        if kind in types:
            analysis.findings.rules += [
                RuleDraft(kind, one.at, one.at, one.function, choices=one.choices)
                for one in family.sites(code)
            ]


@dataclass(frozen=True, slots=True)
class Transformed:
    """A variant after its transformations.

    Attributes:
        source: its text, in its files.
        shape: how its launches change, see :class:`gi_cuda.spec.launches.Shape`.
        made: the rules of those that were made; the others' conditions do not hold.
    """

    source: Source
    shape: Mapping[str, int] = field(default_factory=dict)
    made: tuple[str, ...] = ()


def transformations(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> tuple[tuple[str, str], ...]:
    """The transformations among expansions, as rule and choice, in the order of the families."""
    found = [
        (name, one.body)
        for name, one in expansions.items()
        if one.body and grammar.rule(name).type.kind.transforms
    ]
    order = {kind: at for at, kind in enumerate(_BY_TYPE)}
    return tuple(
        sorted(
            found, key=lambda one: (order[grammar.rule(one[0]).type], grammar.rule(one[0]).start)
        )
    )


def transform(
    grammar: Grammar,
    source: Source,
    splices: Sequence[Splice],
    wanted: Sequence[tuple[str, str]],
) -> Transformed:
    """Make transformations on a text that line edits have changed.

    Args:
        source: the text after line edits.
        splices: those edits, as changes of the grammar's own text.
        wanted: see :func:`transformations`.
    """
    moved: list[_Moves] = [_Moves(splices)]
    shape: dict[str, int] = {}
    made = []
    for name, choice in wanted:
        rule = grammar.rule(name)
        at: int | None = rule.start
        for one in moved:
            at = None if at is None else one.place(at)
        if at is None:
            continue
        code = read_code(source)
        rewrite = _BY_TYPE[rule.type].rewrite(code, at, choice)
        if rewrite is None:
            continue
        source = spliced(source, rewrite.splices)
        moved.append(_Moves(rewrite.splices))
        shape |= rewrite.shape
        made.append(name)
    return Transformed(source, shape, tuple(made))


class _Moves:
    """Where places of a text are after splices."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._splices = sorted(splices)
        self._starts = [one.start for one in self._splices]

    def place(self, at: int) -> int | None:
        """Where what begins at a place begins now; None if it is gone."""
        moved = at
        for one in self._splices[: bisect_right(self._starts, at)]:
            if one.end > at and one.start <= at:
                return None
            moved += len(one.text) - (one.end - one.start)
        return moved
