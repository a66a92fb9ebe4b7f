"""Is the place of a change executed at all? The original with a counter at that place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.requests import CountLoops, LoopCounts
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.evaluate.candidates import as_candidate
from gi_cuda.genome import Change, Configuration, Setting
from gi_cuda.runs.run import Run

LIMIT = 120.0
"""Seconds that a counted run may take."""


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
    program = run.subject.parsed
    reached = [None if one is None else program.mark(one) for one in places]
    true = [None if one is None else program.mark_true(one) for one in places]
    found = _reached(run, configuration, [*reached, *true], cases)
    return [
        Coverage(*both) for both in zip(found[: len(places)], found[len(places) :], strict=True)
    ]


def _reached(
    run: Run, configuration: Configuration, texts: Sequence[str | None], cases: Sequence[str]
) -> list[Mapping[str, bool] | None]:
    """For each text with a mark on which cases that is reached; None where it cannot be told."""
    subject, tools = run.subject, run.tools
    sources = {
        number: as_candidate(subject, text, configuration)
        for number, text in enumerate(texts)
        if text is not None
    }
    variants = [one.variant(number) for number, one in sources.items()]
    built = build_batch(tools.compiler, variants, tools.scratch("coverage")) if variants else {}
    requests = []
    for number, binary in built.items():
        if isinstance(binary, Binary):
            for case in cases:
                program = sources[number].program(binary, (case,))
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
