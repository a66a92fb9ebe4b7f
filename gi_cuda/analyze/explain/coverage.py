"""Find out whether the place of a change is executed, by a counter at that place."""

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
"""Time limit of a run with counters, seconds."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Execution of a change's place in the original, under a winner's configuration.

    Attributes:
        executed: whether the place is reached, by case; None if unknown.
        true: whether the condition that the change modifies is ever true, by case; None if it
            modifies no condition, or if unknown.
    """

    executed: Mapping[str, bool] | None
    true: Mapping[str, bool] | None = None


def coverage(
    run: Run, configuration: Configuration, changes: Sequence[Change], cases: Sequence[str]
) -> list[Coverage]:
    """Determine for each change the cases that reach its place and make its condition true.

    Settings have no place. One text with a counter is compiled for each place, all in one batch.

    Args:
        run: the run.
        configuration: configuration of the original.
        changes: the changes.
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
    """Determine for each text with a counter whether each case reaches it; None if unknown."""
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
    # Sort by case, because answers come in any order.
    return [
        {case: one[case] for case in cases} if len(one) == len(cases) else None for one in found
    ]
