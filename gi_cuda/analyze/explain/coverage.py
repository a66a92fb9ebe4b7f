"""Is the place of a change executed at all? The original with a counter at that place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts, Program
from gi_cuda.backends.protocol.variants import Binary, Variant
from gi_cuda.genome import Change, Configuration, Setting
from gi_cuda.grammar import Grammar, RuleType
from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.splice import Splice, closing, newline, opening, replacing, splice
from gi_cuda.runs.run import Run
from gi_cuda.subject.ptx import PtxSubject

LIMIT = 120.0
"""Seconds that a counted run may take."""

_MARK = "gi_loop(0u, 1u)"
"""Counts that it was reached, and is true. The back ends supply it for loop counts."""

_CONDITIONS = frozenset({RuleType.IF, RuleType.WHILE, RuleType.FOR2, RuleType.COND})
_OPERANDS = frozenset({RuleType.RHS, RuleType.OP})


def marked(grammar: Grammar, name: str) -> str:
    """The source with a mark where a rule stands, that is reached when the rule is.

    Raises:
        KeyError: the grammar has no such rule.
    """
    return splice(grammar.source.text, list(_mark(grammar, grammar.rule(name))))


def _mark(grammar: Grammar, rule: Rule) -> Iterable[Splice]:
    text = grammar.source.text
    start, end = rule.start, rule.end
    if rule.type in _CONDITIONS:
        if start == end:
            return [replacing(start, end, _MARK)]
        return [opening(start, end, f"({_MARK} && ("), closing(start, end, "))")]
    if rule.type in _OPERANDS:
        own = text[start:end]
        return [replacing(start, end, f"({_MARK} ? ({own}) : ({own}))")]
    if rule.type is RuleType.FOR3:
        return [replacing(start, end, f"{_MARK}, {text[start:end]}" if start < end else _MARK)]
    if rule.type is RuleType.ELSE:
        return [
            replacing(start, start + len("else"), f"else {{ {_MARK};"),
            closing(start, end, " }"),
        ]
    if rule.type in (RuleType.RESTRICT, RuleType.BOUNDS):
        function = next(one for one in grammar.functions if one.start <= start <= one.end)
        signature = max([start, *(site for site, _ in rule.sites)])
        body = text.index("{", signature, function.end) + 1
        return [replacing(body, body, f" {_MARK};")]
    if rule.type in (RuleType.FOR1, RuleType.PRAGMA):
        loop = next(
            loop for loop in reversed(grammar.loops) if loop.start <= start and end <= loop.end
        )
        start, end = loop.start, loop.end
    elif rule.block:
        return [opening(start, end, f"{_MARK}; ")]
    before = f"{{ {_MARK};{newline(text, start)}"
    return [opening(start, end, before), closing(start, end, " }")]


def marked_where_true(grammar: Grammar, name: str) -> str | None:
    """The source with a mark that is reached whenever a condition is true; None: no condition.

    Raises:
        KeyError: the grammar has no such rule.
    """
    rule = grammar.rule(name)
    if rule.type not in _CONDITIONS or rule.start == rule.end:
        return None
    splices = [opening(rule.start, rule.end, "(("), closing(rule.start, rule.end, f") && {_MARK})")]
    return splice(grammar.source.text, splices)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Where a change acts, in the original under a winner's configuration.

    Attributes:
        executed: by case, whether its place is reached; None where that cannot be told.
        true: by case, whether the condition that it changes is ever true; None where it changes
            none, or that cannot be told.
    """

    executed: Mapping[str, bool] | None
    true: Mapping[str, bool] | None = None


def coverage(
    run: Run, configuration: Configuration, changes: Sequence[Change], cases: Sequence[str]
) -> list[Coverage]:
    """For each change on which cases its place is reached, and its condition true.

    Settings have no place. All places are compiled in one batch, each in a text of its own.

    Args:
        configuration: under which the original is compiled.
        cases: names of cases that the run's workers have.
    """
    places = [None if isinstance(change, Setting) else change.place for change in changes]
    if isinstance(run.subject, PtxSubject):
        reached = [None if one is None else run.subject.marked(one) for one in places]
        true: list[str | None] = [None] * len(places)
    else:
        device = run.source.device
        reached = [None if one is None else marked(device, one) for one in places]
        true = [None if one is None else marked_where_true(device, one) for one in places]
    found = _reached(run, configuration, [*reached, *true], cases)
    return [
        Coverage(*both) for both in zip(found[: len(places)], found[len(places) :], strict=True)
    ]


def _reached(
    run: Run, configuration: Configuration, texts: Sequence[str | None], cases: Sequence[str]
) -> list[Mapping[str, bool] | None]:
    """For each text with a mark on which cases that is reached; None where it cannot be told."""
    subject, tools = run.subject, run.tools
    macros, options = subject.macros(configuration), subject.options(configuration)
    variants = [
        Variant(number, text, macros, options)
        for number, text in enumerate(texts)
        if text is not None
    ]
    built = build_batch(tools.compiler, variants, tools.scratch("coverage")) if variants else {}
    requests = []
    for number, binary in built.items():
        if isinstance(binary, Binary):
            for case in cases:
                program = Program(binary, dict(configuration), (case,))
                requests.append(((number, case), CountLoops(program, 1, LIMIT)))
    numbered = [(at, request) for at, (_, request) in enumerate(requests)]
    found: list[dict[str, bool]] = [{} for _ in texts]
    for at, answer in tools.pool.map(numbered):
        (number, case), _ = requests[at]
        if isinstance(answer, LoopCounts):
            found[number][case] = answer.most[0] > 0
    # In the order of the cases, whichever was done first.
    return [
        {case: one[case] for case in cases} if len(one) == len(cases) else None for one in found
    ]
