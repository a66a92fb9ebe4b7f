"""Transformations as rules of a grammar: find their sites, and apply them to a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gi_cuda.grammar.frontends.cuda.analysis import Analysis
from gi_cuda.grammar.frontends.cuda.declarations.functions import definitions
from gi_cuda.grammar.frontends.cuda.rules.findings import RuleDraft
from gi_cuda.grammar.frontends.cuda.transforms import FAMILIES
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.frontends.cuda.transforms.family import Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import (
    LaunchText,
    launch_splices,
)
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion, Hunk
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import Splice, replacing, spliced

_BY_TYPE = {family.type: family for family in FAMILIES}


def add_sites(source: Source, analysis: Analysis, types: frozenset[RuleType]) -> None:
    """Add a rule to an analysis for each site of the transformations in ``types``."""
    code = Code(source, analysis)
    for kind, family in _BY_TYPE.items():
        if kind in types:
            analysis.findings.rules += [
                RuleDraft(kind, one.at, one.at, one.function, choices=one.choices)
                for one in family.sites(code)
            ]


def add_hunks(source: Source, analysis: Analysis, hunks: Mapping[str, Hunk]) -> None:
    """Add a rule to an analysis for each offset at which hunks start; its choices are these hunks.

    Hunks in host functions are left out, because a search launches kernels itself. A hunk outside
    the functions that evolve belongs to the next function.
    """
    macros = analysis.findings.macros.names
    hosts = [one.outer for one in definitions(analysis.root, source.text, macros) if not one.device]
    at: dict[int, list[str]] = {}
    for name, hunk in hunks.items():
        if not any(one.start_byte <= hunk.start < one.end_byte for one in hosts):
            at.setdefault(hunk.start, []).append(name)
    for start, names in at.items():
        ahead = (k for k, one in enumerate(analysis.functions) if start <= one.end)
        function = next(ahead, len(analysis.functions) - 1)
        draft = RuleDraft(RuleType.IDEA, start, start, function, choices=tuple(names))
        analysis.findings.rules.append(draft)


@dataclass(frozen=True, slots=True)
class Transformed:
    """A variant after its transformations.

    Attributes:
        source: text of the variant, with its files.
        shape: changes of its launches, see :class:`gi_cuda.spec.launching.shape.Shape`.
        made: names of the rules whose transformations were applied; the conditions of the others
            do not hold.
        unknown: kernels whose launches have to change but are not changed in the text, because the
            text has no launch, or a launch is not understood.
    """

    source: Source
    shape: Mapping[str, int] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def transformations(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> tuple[tuple[str, str], ...]:
    """Return the transformations among expansions: name of the rule, and choice.

    Hunks of patches come first, then all others in the order of ``FAMILIES``.
    """
    found = [
        (name, one.body)
        for name, one in expansions.items()
        if one.body and grammar.rule(name).type.kind.transforms
    ]
    order = {kind: at for at, kind in enumerate(_BY_TYPE)}
    return tuple(
        sorted(
            found,
            key=lambda one: (order.get(grammar.rule(one[0]).type, -1), grammar.rule(one[0]).start),
        )
    )


def transform(
    grammar: Grammar,
    source: Source,
    splices: Sequence[Splice],
    wanted: Sequence[tuple[str, str]],
    *,
    launches: bool,
) -> Transformed:
    """Apply transformations to a text that line edits have changed.

    Args:
        grammar: the grammar.
        source: the text after line edits.
        splices: the line edits, as splices of the grammar's original text.
        wanted: rule and choice of each transformation, see :func:`transformations`.
        launches: True to change launches in host code too. That takes most of the time, and a
            variant that is compiled only for its kernels does not need it.
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
        rewrite = _rewrite(grammar, source, at, rule.type, choice)
        if rewrite is None:
            continue
        source = spliced(source, rewrite.splices)
        moved.append(_Moves(rewrite.splices))
        for key, count in rewrite.shape.items():
            shape[key] = count if ".threads." in key else shape.get(key, 1) * count
        made.append(name)
    if not launches:
        return Transformed(source, shape, tuple(made))
    changed, unknown = _launches(grammar.source, shape, moved)
    return Transformed(spliced(source, changed), shape, tuple(made), unknown)


def _rewrite(
    grammar: Grammar, source: Source, at: int, kind: RuleType, choice: str
) -> Rewrite | None:
    """Apply one transformation; return None if its conditions do not hold.

    The condition of a hunk is that the text it replaces is unchanged.
    """
    hunk = grammar.hunks.get(choice)
    if hunk is None:
        return _BY_TYPE[kind].rewrite(read_code(source), at, choice)
    own = grammar.source.text[hunk.start : hunk.end]
    if not source.text.startswith(own, at):
        return None
    return Rewrite((replacing(at, at + len(own), hunk.text),))


def _launches(
    source: Source, shape: Mapping[str, int], moved: Sequence[_Moves]
) -> tuple[list[Splice], tuple[str, ...]]:
    """Return the splices that change launches in a text, and the kernels for which that failed.

    Args:
        source: the grammar's original text.
        shape: the changes of launches.
        moved: the changes from the original text to the current text.
    """
    found: list[Splice] = []
    unknown = []
    for kernel in dict.fromkeys(key.partition(".")[0] for key in shape):
        own = tuple((key, n) for key, n in shape.items() if key.startswith(f"{kernel}."))
        text = _launch_text(source, own)
        places = [_moved(one, moved) for one in text.splices]
        if text.unknown or None in places:
            unknown.append(kernel)
        else:
            found += [one for one in places if one is not None]
    return found, tuple(unknown)


@lru_cache(maxsize=1024)
def _launch_text(source: Source, shape: tuple[tuple[str, int], ...]) -> LaunchText:
    return launch_splices(read_code(source), dict(shape))


def _moved(one: Splice, moved: Sequence[_Moves]) -> Splice | None:
    """Return a splice moved to a changed text; None if the text that it replaces has changed."""
    start: int | None = one.start
    last: int | None = max(one.start, one.end - 1)
    for moves in moved:
        start = None if start is None else moves.place(start)
        last = None if last is None else moves.place(last)
    if start is None or last is None:
        return None
    end = last + (one.end > one.start)
    return one._replace(start=start, end=end) if end - start == one.end - one.start else None


class _Moves:
    """A map from offsets in a text to offsets after splices."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._splices = sorted(splices)
        self._starts = [one.start for one in self._splices]

    def place(self, at: int) -> int | None:
        """Return the new offset of a character; None if the character was replaced."""
        moved = at
        for one in self._splices[: bisect_right(self._starts, at)]:
            if one.end > at and one.start <= at:
                return None
            moved += len(one.text) - (one.end - one.start)
        return moved
