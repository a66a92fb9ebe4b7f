"""Run the reference of a target on the host back end, and judge it like a check."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    CountLoops,
    Explore,
    Explored,
    LoopCounts,
    Measure,
    Record,
    Recorded,
    Refused,
    TrySchedule,
)
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.variants import Binary, BuildFailure
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.candidates import as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.checks.parameters.values import TriedValue, evenly, try_values, values_alone
from gi_cuda.evaluate.reference.baseline import FEWEST_ITERATIONS, broken
from gi_cuda.evaluate.reference.complaints import does_not_compile
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools
from gi_cuda.subject import Subject
from gi_cuda.trial import troubles
from gi_cuda.trial.troubles import Beside, Blind, Died, LeftOut, Roles, Slow, Undefined, Varying

_PAIRS = 4
"""Number of launches of a copy of the reference, and of the reference beside it."""

_LIMIT = 2.0
"""Seconds that a launch may take in a trial."""

_MOST_VALUES = 12
"""Largest number of parameter values that are tried."""


@dataclass(frozen=True, slots=True)
class Built:
    """Binaries that a check of a source runs.

    Attributes:
        counted: the reference with counters of loop iterations; None if it has no loops.
        broken: the reference with every statement deleted.
    """

    reference: Binary
    counted: Binary | None
    broken: Binary


def built_in(tools: Tools, folder: Path) -> Built:
    """Compile all binaries of a check together.

    Raises:
        UserError: one of them does not compile.
    """
    subject = tools.subject
    limits = {loop.ident: FEWEST_ITERATIONS for loop in subject.grammar.loops}
    wanted = [unmodified(subject), broken(subject, limits)]
    if limits:
        text = subject.parsed.instrument()
        wanted.append(as_candidate(subject, text, subject.original.configuration))
    binaries: list[Binary] = []
    for one in build_candidates(tools.compiler, wanted, folder):
        if isinstance(one, BuildFailure):
            raise does_not_compile(subject, one.message)
        binaries.append(one)
    return Built(binaries[0], binaries[2] if limits else None, binaries[1])


@dataclass(frozen=True, slots=True)
class Exploration:
    """Observations of the reference with memory around all buffers.

    Attributes:
        found: observations by case.
        lost: troubles on the other cases.
        inputs: names of the buffers that are not judged.
    """

    found: Mapping[str, Explored]
    lost: Sequence[troubles.Trouble]
    inputs: frozenset[str]

    @property
    def fatal(self) -> troubles.Trouble | None:
        """Return the trouble that ended the reference, or that would end it elsewhere; None if
        none.
        """
        # Out-of-bounds accesses in one case may explain why another case died.
        if any(one.beyond for one in self.found.values()):
            return Beside({case: one.beyond for case, one in self.found.items()})
        return next(iter(self.lost), None)

    def troubles(self, patience: float) -> Iterator[troubles.Trouble]:
        """Yield all troubles that were observed.

        Args:
            patience: seconds that a case may take.
        """
        found = self.found.values()
        if self.fatal is not None:
            yield self.fatal
        for case, one in self.found.items():
            if one.seconds > patience:
                yield Slow(case, one.seconds, over=False)
        written = frozenset[str]().union(*(one.changed for one in found)) & self.inputs
        unwritten = frozenset[str].intersection(*(one.unwritten for one in found))
        if written or unwritten:
            yield Roles(written, unwritten)
        if varying := frozenset[str]().union(*(one.varying for one in found)):
            yield Varying(varying)
        if undefined := frozenset[str]().union(*(one.undefined for one in found)):
            yield Undefined(undefined)

    @property
    def alike(self) -> bool:
        """Tell whether all outputs are a single value, the same in all cases."""
        values = {one.only for one in self.found.values()}
        return len(values) == 1 and "" not in values

    @property
    def magnitudes(self) -> dict[str, float]:
        """Return the magnitude of the results of each buffer, in the case where it is least."""
        names = dict.fromkeys(name for one in self.found.values() for name in one.magnitudes)
        every = [one.magnitudes for one in self.found.values()]
        return {name: min(one[name] for one in every if name in one) for name in names}

    @property
    def seconds(self) -> float:
        """Return the seconds of the fastest case."""
        return min((one.seconds for one in self.found.values()), default=0.0)


def explored(tools: Tools, binary: Binary) -> Exploration:
    """Run the reference on each case, with memory around all buffers."""
    whole = unmodified(tools.subject)
    found: dict[str, Explored] = {}
    cases = (*tools.train(), *tools.held_out())
    lost: list[troubles.Trouble] = []
    for case in cases:
        answer = tools.pool.one(Explore(whole.program(binary, (case,)), _LIMIT))
        if isinstance(answer, Explored):
            found[case] = answer
        else:
            lost.append(_lost(case, answer))
            if isinstance(lost[-1], Slow):
                break  # the other cases would time out, too
    inputs = frozenset(b.name for b in tools.subject.target.buffers if not b.role.judged)
    return Exploration(found, lost, inputs)


def _lost(case: str, answer: Lost | Refused) -> troubles.Trouble:
    if isinstance(answer, Refused):
        if answer.masked:
            return LeftOut(answer.message)
        return Died(case, Survival.REFUSED, None, answer.message)
    if answer.signal == signal.SIGPROF:
        return Slow(case, _LIMIT, over=True)
    return Died(case, answer.survival, answer.signal, answer.message)


def confirmed(tools: Tools, built: Built) -> troubles.Trouble | None:
    """Return the trouble that a check would report, timing aside; None if none."""
    subject, pool = tools.subject, tools.pool
    train, cases = tools.train(), (*tools.train(), *tools.held_out())
    whole = _program(subject, built.reference, cases)
    recorded = pool.one(Record(whole, tools.reference, 2, _LIMIT))
    if not isinstance(recorded, Recorded):
        return _lost("", recorded)
    sampling = Sampling(screen=_PAIRS, most=_PAIRS, limit=_LIMIT)
    copied = pool.one(Measure(whole, whole, sampling))
    if not isinstance(copied, Measurement):
        return _lost("", copied)
    if not copied.correct or any(recorded.penalties.values()):
        return Varying(frozenset(b.name for b in subject.target.buffers if b.role.judged))
    if built.counted is not None:
        program = _program(subject, built.counted, train)
        counts = pool.ask(CountLoops(program, len(subject.grammar.loops), _LIMIT))
        if not isinstance(counts, LoopCounts):
            return _lost("", counts)
    base = _program(subject, built.reference, train)
    told = pool.one(Measure(_program(subject, built.broken, train), base, sampling))
    return Blind() if isinstance(told, Measurement) and told.correct else None


def crowded(tools: Tools, built: Built) -> bool:
    """Tell whether the reference's results change if its threads run in the opposite order."""
    cases = (*tools.train(), *tools.held_out())
    whole = _program(tools.subject, built.reference, cases)
    return tools.pool.one(TrySchedule(whole, _LIMIT, Schedule.REVERSED)) is False


def tried_alone(tools: Tools, built: Built, folder: Path) -> list[TriedValue]:
    """Return the result of each value of each parameter alone, on the train cases.

    Args:
        built: binaries of a reference that passes on all cases.
        folder: for binaries.
    """
    subject, pool = tools.subject, tools.pool
    whole = _program(subject, built.reference, (*tools.train(), *tools.held_out()))
    if not isinstance(pool.one(Record(whole, tools.reference, 2, _LIMIT)), Recorded):
        return []
    chosen = evenly(values_alone(subject.space.parameters), _MOST_VALUES)
    sampling = Sampling(limit=_LIMIT)
    return try_values(subject, tools.compiler, pool, folder, chosen, sampling, lambda _: None)


def _program(subject: Subject, binary: Binary, cases: tuple[str, ...]) -> Program:
    return Program(binary, subject.standard, cases)
