"""Which changes of a winner does no case test? What the original does there, none of them sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gi_cuda.evaluate.checks.coverage import Unreached, look_for_unreached
from gi_cuda.genome import Change, Setting
from gi_cuda.grammar import Rule
from gi_cuda.runs.run import Run


def untested(run: Run, changes: Sequence[Change]) -> dict[str, str]:
    """Of the changes whose place no case reaches, or at a condition that always comes out alike,
    each in notation with a sentence. Nothing where that cannot be told.

    The original is run once on all cases, train and held-out ones, in a build that counts.
    """
    rules = run.source.grammar
    places = {str(one): rules.rule(one.place) for one in changes if not isinstance(one, Setting)}
    if not places:
        return {}
    tools = run.tools
    unreached = look_for_unreached(
        run.source, tools.compiler, tools.pool, tools.scratch("untested"), lambda _: None
    )
    said = {change: next(_said(run, rule, unreached), "") for change, rule in places.items()}
    return {change: sentence for change, sentence in said.items() if sentence}


def _said(run: Run, place: Rule, unreached: Unreached) -> Iterator[str]:
    line = f"{place.file}:{place.line}"
    if _within(place, unreached.statements):
        yield f"no case reaches {line}, where it changes something"
    for outcome, conditions in (
        ("true", unreached.never_true),
        ("false", unreached.never_false),
    ):
        if _within(place, conditions):
            yield f"no case makes the condition of {line} {outcome}, which it changes"
    for loop in unreached.never_again:
        steps = map(run.source.grammar.rule, loop.header | loop.assigned)
        if _within(place, steps):
            yield f"no case takes the loop of line {loop.line} round again, whose steps it changes"


def _within(place: Rule, others: Iterable[Rule]) -> bool:
    return any(one.start <= place.start and place.end <= one.end for one in others)
