"""One batch of individuals from their compiler's input to their records.

Everything that happens, something built, a worker's answer or its death, comes to one loop, which
decides at once: what goes to the workers next, what is measured again, which record is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from gi_cuda.backends.protocol.requests import Measure, Refused, Sampling
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.workers.pool import Lost, Task
from gi_cuda.errors import DeviceLost
from gi_cuda.evaluate.evidence import DeviceEvidence
from gi_cuda.evaluate.fatal_edits import FatalEdits
from gi_cuda.evaluate.passes import (
    REFERENCE,
    Equipment,
    LentKernels,
    Pass,
    Record,
    Trial,
    TrialBuilder,
)
from gi_cuda.evaluate.rehearsal import FirstRun
from gi_cuda.evaluate.scheduler import Answer, Answered
from gi_cuda.evaluate.schemata import SchemaBuilder
from gi_cuda.genome import Edit
from gi_cuda.results.evaluation import Evaluation, Judge, lost, measured, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import (
    needs_confirmation,
    verdict_of_confirmation,
    verdict_on_pairs,
)

WORTH_BUILDING, WORTH_STARTING = 2.0, 0.5
"""Right rehearsals, for each compiler process, after which they are built as they are; the second
one while nothing is. Starting a compiler costs half of what a variant does."""

STOP_ASKED = 0.1
"""Seconds after which it is asked whether to stop, where nothing happens."""

PROOF_SLACK = 10.0
"""Times the limit of a variant that the reference may take where it shows that the device works."""

Held: TypeAlias = tuple[Pass, int, Evaluation]
"""What became of an individual in a pass."""


@dataclass(slots=True)
class PastResults:
    """What earlier measurements say about later ones.

    Attributes:
        codes: individual and record by machine code, of all that was measured.
        rehearsed: the same of rehearsals.
        fatal_edits: edits that took workers down.
    """

    codes: dict[bytes, Record] = field(default_factory=dict)
    rehearsed: dict[bytes, Record] = field(default_factory=dict)
    fatal_edits: FatalEdits = field(default_factory=FatalEdits)

    def judged(self, result: Answered, edits: Sequence[Edit], floor: float) -> Evaluation | None:
        """What a result says of an individual; None where that is to happen once more, in a fresh
        worker, before it is believed.

        A worker's death over an edit that is known for it has happened before.
        """
        judge = verdict_of_confirmation if result.confirmed else verdict_on_pairs
        evaluation = _evaluation(result.answer, floor, judge)
        if not isinstance(result.answer, Lost):
            doubtful = needs_confirmation(evaluation.verdict, confirmed=result.confirmed)
            return None if doubtful else evaluation
        if result.alone:
            self.fatal_edits.enter(result.ident, edits)
        if result.final:
            return evaluation
        precedent = self.fatal_edits.of(edits)
        if precedent is None:
            return None
        said = f"as individual {precedent} by a like edit: {evaluation.message}"
        return replace(evaluation, message=said)


def _evaluation(answer: Answer, floor: float, judge: Judge) -> Evaluation:
    match answer:
        case Lost(survival, message):
            return lost(survival, message)
        case Refused(message):
            return lost(Survival.REFUSED, message)
    return measured(answer, floor, judge)


class Batch:
    """Builds and measures trials beside the reference, once.

    Those that rehearse are first built confined, and those of them whose answers are right then are
    built and measured as they are; while the first are measured, the last are still compiled.

    Args:
        equipment: to do it with.
        reference: what they are timed beside.
        trials: the batch, by their numbers.
        sampling: how they are measured.
        memory: is asked and told.
        first: which of them rehearse, if any do.

    Attributes:
        spent: wall time by phase, once it is over.
    """

    def __init__(
        self,
        equipment: Equipment,
        reference: Trial,
        trials: Mapping[int, Trial],
        sampling: Sampling,
        memory: PastResults,
        first: FirstRun | None = None,
    ) -> None:
        self.spent = Phases()
        self._equipment = equipment
        self._trials = {REFERENCE: reference, **trials}
        self._memory = memory
        numbers, lent = count(1), LentKernels()
        self._measuring = Pass(
            equipment,
            TrialBuilder(equipment.compiler, self._trials, lent),
            equipment.folder / "measured",
            sampling,
            memory.codes,
            numbers,
        )
        self._rehearsing: Pass | None = None
        self._actors = first.actors if first else frozenset[int]()
        if first is not None:
            how = first.how
            self._schemata = SchemaBuilder(
                how.compiler, self._trials, lent, how.subject, first.groups
            )
            self._rehearsing = Pass(
                equipment,
                self._schemata,
                equipment.folder / "rehearsed",
                how.sampling,
                memory.rehearsed,
                numbers,
            )
        self._right: list[int] = []
        self._evidence: DeviceEvidence[Held] = DeviceEvidence()
        self._run = self._verify = 0.0

    @property
    def _passes(self) -> list[Pass]:
        """The later one first: what is nearer to its end goes before."""
        return [self._measuring, *([self._rehearsing] if self._rehearsing else [])]

    def run(self, stop: Callable[[], bool]) -> Iterator[Record]:
        """Yields records as individuals are done.

        Args:
            stop: if true, there are no more records.

        Raises:
            DeviceLost: nothing works on the device any more, not even the reference.
        """
        pool, paused = self._equipment.pool, 0.0
        begun = time.perf_counter()
        try:
            others = self._in_order()
            if self._rehearsing is not None:
                self._rehearsing.build([REFERENCE, *filter(self._actors.__contains__, others)])
            direct = (one for one in others if one not in self._actors)
            self._measuring.build([REFERENCE, *direct])
            # Workers that are not there yet open the device beside the compiler.
            pool.restock()
            while not self._over and not stop():
                news = [descriptor for one in self._passes for descriptor in one.news]
                answers = pool.wait(STOP_ASKED, *news)
                records = [record for one in self._passes for record in self._taken(one)]
                records += [record for answer in answers for record in self._answered(*answer)]
                self._promote()
                self._feed()
                compiles = any(one.compiles for one in self._passes)
                for record in records:
                    away = time.perf_counter()
                    yield record
                    paused += time.perf_counter() - away if not compiles else 0.0
        except DeviceLost as error:
            raise self._evidence.lost(error.said) from None
        finally:
            pool.abandon()
            for one in self._passes:
                one.close()
            whole = max(0.0, time.perf_counter() - begun - paused)
            until = max(one.compiled_until for one in self._passes)
            compiling = min(whole, max(0.0, until - begun))
            rest = whole - compiling
            share = self._verify / (self._run + self._verify) if self._run + self._verify else 0.0
            self.spent = Phases(compile=compiling, run=rest * (1 - share), verify=rest * share)

    @property
    def _over(self) -> bool:
        """Whether all that was built is measured, and can be believed."""
        idle = all(one.idle for one in self._passes)
        return idle and not self._right and not self._evidence.held

    def _feed(self) -> None:
        """Send the workers what they can take."""
        pool = self._equipment.pool
        compiling = any(one.compiles for one in self._passes)
        for one in self._passes:
            while pool.has_room and (task := one.next(compiling=compiling)):
                self._evidence.begun(task.key)
                pool.submit(task)
        base = self._measuring.base
        idle = all(one.idle for one in self._passes)
        if base is not None and (number := self._evidence.proof(idle=idle)) is not None:
            sampling = self._measuring.sampling.untimed()
            sampling = replace(sampling, limit=PROOF_SLACK * sampling.limit)
            pool.submit(Task(number, Measure(base, base, sampling), alone=True))

    def _in_order(self) -> list[int]:
        """The batch, those first that will probably crash: while one is cleared away nothing can be
        measured, but there is still much to compile."""
        others = (ident for ident in self._trials if ident != REFERENCE)
        fatal = self._memory.fatal_edits
        return sorted(others, key=lambda i: fatal.of(self._trials[i].edits) is None)

    def _promote(self) -> None:
        """Have those compiled as they are that were right in their rehearsal, as soon as they are
        worth a compiler; at once where compilers have nothing else to do."""
        if self._rehearsing is None or not self._right:
            return
        compiler = self._equipment.compiler
        share = WORTH_BUILDING if self._measuring.compiles else WORTH_STARTING
        # A compiler that disturbs what is timed had better be done with it.
        enough = len(self._trials) if compiler.disturbs else share * compiler.jobs
        if len(self._right) >= enough or self._rehearsing.idle:
            self._measuring.build(self._right)
            self._right = []

    def _taken(self, one: Pass) -> Iterator[Record]:
        """What a pass has built."""
        for news in one.take():
            if not isinstance(news, BuildFailure):
                yield from self._judged(one, *news)
            elif news.ident == REFERENCE:
                raise RuntimeError(f"the reference no longer compiles: {news.message}")
            elif one is self._rehearsing:
                self._right.append(news.ident)  # it is the other compiler's to say
            else:
                yield news.ident, not_built(news.message)

    def _answered(
        self,
        number: int,
        answer: tuple[Measurement | Refused, ...] | Measurement | Lost | Refused,
    ) -> Iterator[Record]:
        """A task was answered, or a worker died over it."""
        if number < 0:
            yield from self._proven(number, answer)
            return
        assert not isinstance(answer, Measurement)
        (one,) = (one for one in self._passes if one.scheduler.has(number))
        worked = isinstance(answer, tuple) and any(isinstance(a, Measurement) for a in answer)
        if worked:
            yield from self._believed(self._evidence.worked(number))
        else:
            self._evidence.died(number)
        for result in one.scheduler.results(number, answer):
            edits, floor = one.trial(result.ident).edits, one.sampling.floor
            evaluation = self._memory.judged(result, edits, floor)
            if evaluation is None and isinstance(result.answer, Measurement):
                one.scheduler.confirm(result.ident)
            elif evaluation is None:
                one.scheduler.repeat(result.ident)
            elif worked:
                yield from self._believed([(one, result.ident, evaluation)])
            else:
                self._evidence.hold((one, result.ident, evaluation))

    def _proven(self, number: int, answer: object) -> Iterator[Record]:
        """The reference ran by itself; what that says of the device."""
        if isinstance(answer, Measurement) and answer.correct:
            yield from self._believed(self._evidence.proven(number))
        else:
            assert isinstance(answer, Measurement | Lost | Refused)
            self._evidence.not_proven(number, answer.message)

    def _believed(self, results: Iterable[Held]) -> Iterator[Record]:
        """The records of what the device is known to have worked for."""
        for one, ident, evaluation in results:
            self._run += evaluation.run_seconds
            self._verify += evaluation.verify_seconds
            for record in one.done(ident, evaluation):
                yield from self._judged(one, *record)

    def _judged(self, one: Pass, ident: int, evaluation: Evaluation) -> Iterator[Record]:
        """What is to be told of an individual now, if anything."""
        if one is not self._rehearsing:
            yield ident, evaluation
            return
        believed, again = self._schemata.judged(ident, evaluation)
        if again:
            one.build(again)
        for number, said in believed:
            if said.right or said.survival is Survival.REFUSED:
                self._right.append(number)
            else:
                yield number, replace(said, resources={}, code_key=None)
