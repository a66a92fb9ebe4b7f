"""Trial of each value of each parameter by itself: correctness and speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import as_candidate, build_candidates
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.evaluate.replicates import NOT_COMPILED, Answer, final_answers
from gi_cuda.results.statistics import ratios
from gi_cuda.spec import CaseRole, Parameter, Value
from gi_cuda.subject import Subject

MOST = 64
"""Largest number of values that are tried."""

LONGEST = 30.0
"""Seconds for all trials; at least :data:`FEWEST` values are tried even if they take longer."""

FEWEST = 8
PAIRS = 4
_RUNS = 2 * PAIRS + 4
"""Approximate number of launches for each value."""

RIGHT, WRONG, EXCLUDED = "right", "wrong", "excluded"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TriedValue:
    """The result of one value, with all other parameters at their defaults.

    Attributes:
        outcome: ``right``, ``wrong``, ``refused``, ``crashed``, ``hung``, ``does not compile`` or
            ``excluded`` by a constraint.
        message: the reason.
        ratio: median time on the train cases, as a multiple of the reference's; None if not right.
    """

    parameter: str
    value: Value
    outcome: str
    message: str = ""
    ratio: float | None = None


def values_alone(parameters: Sequence[Parameter]) -> list[tuple[str, Value]]:
    """Return all values of all parameters except the defaults."""
    return [(p.name, v) for p in parameters for v in p.values if v != p.default]


def evenly(several: Sequence[tuple[str, Value]], most: int) -> list[tuple[str, Value]]:
    """Return at most `most` items, chosen evenly, including the first and the last."""
    if len(several) <= most:
        return list(several)
    return [several[round(k * (len(several) - 1) / (most - 1))] for k in range(most)]


def affordable(seconds: float) -> int:
    """Return the number of values to try, given the seconds of the reference."""
    return max(FEWEST, min(MOST, int(LONGEST / (_RUNS * max(seconds, 1e-9)))))


def try_values(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    chosen: Sequence[tuple[str, Value]],
    sampling: Sampling,
    tell: Callable[[str], None],
) -> list[TriedValue]:
    """Run each value by itself on the train cases, beside the reference, in one batch.

    Args:
        folder: for binaries.
        sampling: settings of verification; timings use few pairs of launches.
        tell: receives a message before each step.
    """
    default = subject.space.default
    settings = {at: default.having({name: value}) for at, (name, value) in enumerate(chosen, 1)}
    allowed = {at: one for at, one in settings.items() if subject.space.allows(one)}
    tell(f"compiling {len(allowed)} values of parameters, each by itself")
    sources = [
        as_candidate(subject, subject.reference, one) for one in (default, *allowed.values())
    ]
    base, *others = build_candidates(compiler, sources, folder)
    built = dict(zip(allowed, others, strict=True))
    train = subject.cases(CaseRole.TRAIN)
    if isinstance(base, BuildFailure):
        raise RuntimeError(f"the reference no longer compiles: {base.message}")
    reference = sources[0].program(base, train)
    sampling = replace(sampling, screen=PAIRS, most=PAIRS)
    tell(f"running {len(allowed)} values of parameters, each by itself")
    requests = [
        (at, Measure(source.program(one, train), reference, sampling))
        for (at, one), source in zip(built.items(), sources[1:], strict=True)
        if not isinstance(one, BuildFailure)
    ]
    answers = dict(final_answers(pool.map, pool, requests))
    return [
        _became(name, value, built.get(at), answers.get(at))
        for at, (name, value) in enumerate(chosen, 1)
    ]


def _became(
    name: str, value: Value, built: Binary | BuildFailure | None, answer: Answer | None
) -> TriedValue:
    """Return the result of a value.

    Args:
        built: the build; None if a constraint excludes the value.
        answer: the measurement; None if it was not run.
    """
    if built is None or answer is None:
        failure = (NOT_COMPILED, built.message) if isinstance(built, BuildFailure) else None
        return TriedValue(name, value, *(failure or (EXCLUDED, "by a constraint")))
    if isinstance(answer, Lost):
        return TriedValue(name, value, str(answer.survival), answer.message)
    if isinstance(answer, Refused):
        return TriedValue(name, value, REFUSED, answer.message)
    if not answer.correct:
        return TriedValue(name, value, WRONG, answer.message)
    return TriedValue(name, value, RIGHT, ratio=float(np.median(ratios(answer.samples))))


def wrong_values(
    file: str, parameters: Sequence[Parameter], tried: Sequence[TriedValue]
) -> Iterator[Finding]:
    """Yield findings for values that fail by themselves; refusals of a device do not count.

    Args:
        file: path of ``target.toml``, as the user gave it.
    """
    for parameter in parameters:
        by_outcome: dict[str, list[TriedValue]] = {}
        for one in tried:
            if one.parameter == parameter.name:
                by_outcome.setdefault(one.outcome, []).append(one)
        for outcome, several in by_outcome.items():
            if outcome in (RIGHT, REFUSED, EXCLUDED):
                continue
            values = ", ".join(str(one.value) for one in several)
            if outcome == NOT_COMPILED:
                advice = "if that is no mistake, take them out, or exclude them by a [[constraint]]"
            else:
                advice = (
                    "is a [[constraint]] missing? Does a grid, a block or the size of a buffer not"
                    f" follow {parameter.name}?"
                )
            yield Finding(
                f"{file}:{parameter.line}",
                f"{parameter.name} = {values} by itself: {_said(outcome)}: {several[0].message}",
                advice,
            )


def _said(outcome: str) -> str:
    return "wrong answers" if outcome == WRONG else outcome
