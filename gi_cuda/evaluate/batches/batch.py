"""A batch of individuals from preprocessed source to records; individuals can be added meanwhile.

All events, that is builds, answers of workers and their deaths, are handled by one loop. It decides
at once what to send to the workers, what to measure again, and which record is finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from queue import Empty, SimpleQueue
from typing import TypeAlias

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.wakeup import WakeUp
from gi_cuda.backends.workers.pool import Lost, Task, Wants
from gi_cuda.backends.workers.tasks import Unanswered
from gi_cuda.errors import DeviceLost
from gi_cuda.evaluate.batches.compiled_parts import Parts
from gi_cuda.evaluate.batches.early_builds import EarlyBuilds
from gi_cuda.evaluate.batches.evidence import Evidence
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import REFERENCE, Equipment, Pass, Record, Trial, TrialBuilder
from gi_cuda.evaluate.batches.promotion import Promotion
from gi_cuda.evaluate.batches.rehearsal import FirstRun, Rehearsal
from gi_cuda.evaluate.batches.scheduler import Answered
from gi_cuda.evaluate.batches.schemata import SchemaBuilder
from gi_cuda.evaluate.batches.time_account import Account
from gi_cuda.results.evaluation import Evaluation, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement, Survival

STOP_ASKED = 0.1
"""Seconds between two checks whether to stop, if nothing happens."""

PROOF_SLACK = 10.0
"""Multiple of a variant's time limit for the reference when it tests whether the device works."""

Held: TypeAlias = tuple[Pass, int, Evaluation]
"""A pass, the number of an individual, and its evaluation in this pass."""


class Batch:
    """A batch of trials, which are built and measured beside the reference.

    Trials that rehearse are first built as confined code. Those that are right are then built and
    measured unconfined, while the last trials are still compiled. Trials that look faster may
    rehearse on the sibling cases too, before they run there unconfined. Resources of a trial are
    released when it ends.

    Args:
        equipment: compilers and workers.
        reference: the trial that the others are timed beside.
        trials: the trials by number.
        sampling: settings of the measurements.
        memory: earlier results, which are read and extended.
        first: selects the trials that rehearse; None if none do.
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
        self._equipment = equipment
        self._trials = {REFERENCE: reference}
        self._memory = memory
        self._numbers, self._parts = count(1), Parts()
        self._measuring = Pass(
            equipment,
            TrialBuilder(equipment.compiler, self._trials, self._parts),
            equipment.folder / "measured",
            sampling,
            memory.codes,
            self._numbers,
        )
        self._rehearsing: Pass | None = None
        self._added: SimpleQueue[tuple[Mapping[int, Trial], FirstRun | None]] = SimpleQueue()
        self._wakeup = WakeUp()
        self._growing = self._left = False
        self._promotion = Promotion(equipment.compiler)
        self._ahead = EarlyBuilds(equipment.compiler, self._measuring)
        self._how: Rehearsal | None = None
        self._elsewhere = set[int]()
        self._evidence: Evidence[Held] = Evidence()
        self._account = Account()
        self.add(trials, first)

    def add(self, trials: Mapping[int, Trial], first: FirstRun | None) -> None:
        """Add trials; callable from any thread.

        Args:
            first: selects the trials that rehearse; None if none do.
        """
        self._added.put((trials, first))
        self._wakeup.ring()

    def end(self) -> None:
        """Announce that no more trials will be added; callable from any thread."""
        self._growing = False
        self._wakeup.ring()

    def leave(self) -> None:
        """Cancel the rest of the batch; callable from any thread."""
        self._left = True
        self._wakeup.ring()

    def _begin(self) -> None:
        """Start to build the added trials."""
        trials: dict[int, Trial] = {}
        first: FirstRun | None = None
        with suppress(Empty):
            while True:
                some, theirs = self._added.get_nowait()
                trials |= some
                if theirs is not None:
                    groups = first.groups if first else ()
                    first = replace(theirs, groups=(*groups, *theirs.groups))
        if not trials:
            return
        self._trials |= trials
        others = self._memory.fatal_edits.first({i: one.edits for i, one in trials.items()})
        actors = first.actors if first else frozenset[int]()
        if first is not None:
            if self._rehearsing is None:
                self._rehearsing = self._rehearsals(first.how)
            self._schemata.gather(first.groups)
            rehearsing = [one for one in others if one in actors]
            self._rehearsing.build(rehearsing)
            likely = self._memory.likely
            self._ahead.expect(one for one in rehearsing if likely.is_right(trials[one].edits))
        direct = [one for one in others if one not in actors]
        if direct or not self._measuring.begun:
            self._measuring.build(direct)
        # Start missing workers now, so that they open the device while compilers run.
        pool = self._equipment.pool
        pool.restock()
        if self._measuring.base is not None:
            pool.ready_for(self._measuring.base)

    def _rehearsals(self, how: Rehearsal) -> Pass:
        self._how = how
        self._schemata = SchemaBuilder(how.compiler, self._trials, self._parts, how.subject)
        return Pass(
            self._equipment,
            self._schemata,
            self._equipment.folder / "rehearsed",
            how.sampling,
            self._memory.rehearsed,
            self._numbers,
        )

    @property
    def _passes(self) -> list[Pass]:
        """The passes, the later one first, since its trials are closer to their end."""
        return [self._measuring, *([self._rehearsing] if self._rehearsing else [])]

    def run(
        self, stop: Callable[[], bool], *, growing: bool = False
    ) -> Generator[Record, None, None]:
        """Yield records as individuals are finished.

        Args:
            stop: called now and then; if it returns True, there are no more records.
            growing: whether trials may be added until :meth:`end` is called.

        Raises:
            DeviceLost: not even the reference runs on the device any more.
        """
        pool = self._equipment.pool
        self._growing = growing
        try:
            since = time.perf_counter()
            self._begin()
            while not (self._settled or self._left or stop()):
                compiling, idle = self.compiles, self._idle
                news = [descriptor for one in self._passes for descriptor in one.news]
                answers = pool.wait(STOP_ASKED, self._wakeup.heard, *news)
                self._wakeup.hush()
                records = [record for one in self._passes for record in self._taken(one)]
                records += [record for answer in answers for record in self._answered(*answer)]
                self._promote()
                self._feed()
                if not idle:
                    self._account.passed(time.perf_counter() - since, compiling=compiling)
                since = time.perf_counter()
                for ident in self._ahead.freed():
                    self._forget(ident)
                for ident, evaluation in records:
                    if self._ahead.is_free(ident):
                        self._forget(ident)
                    yield ident, evaluation
                self._begin()
                if not self.compiles:
                    since = time.perf_counter()  # leave out the time of the caller
        except DeviceLost as error:
            raise self._evidence.lost(error.said) from None
        finally:
            pool.abandon()
            for one in self._passes:
                one.close()

    @property
    def spent(self) -> Phases:
        """Wall time so far, by phase; may be read from any thread."""
        return self._account.spent

    @property
    def compiles(self) -> bool:
        """Tell whether something is being compiled."""
        return any(one.compiles for one in self._passes)

    def _forget(self, ident: int) -> None:
        """Release a trial that has ended."""
        for one in self._passes:
            one.forget(ident)
        self._parts.forget(ident)
        del self._trials[ident]

    @property
    def _settled(self) -> bool:
        """Tell whether all trials have final results and none can be added."""
        return self._idle and not self._growing and self._added.empty()

    @property
    def _idle(self) -> bool:
        """Tell whether there is no work at the moment."""
        idle = all(one.idle for one in self._passes)
        return idle and not self._promotion.right and not self._evidence.held

    def _feed(self) -> None:
        """Send the workers as much work as they can take."""
        pool, compiling, at_once = self._equipment.pool, self.compiles, not self._fears
        for one, ident, _ in self._evidence.left(pool.devices):
            self._memory.fatal_edits.forget(ident)
            one.scheduler.repeat(ident)
        for one in self._passes:
            more = one is self._measuring and bool(self._elsewhere)
            while pool.has_room and (
                task := one.next(compiling=compiling, expecting=more, at_once=at_once)
            ):
                self._evidence.begun(task.key, pool.submit(task))
        base = self._measuring.base
        idle = all(one.idle for one in self._passes)
        if base is None:
            return
        for number, device in self._evidence.proofs(pool.devices, idle=idle):
            sampling = self._measuring.sampling.untimed()
            sampling = replace(sampling, limit=PROOF_SLACK * sampling.limit)
            pool.submit(Task(number, Measure(base, base, sampling), Wants.FRESH), device)

    def _promote(self) -> None:
        """Start unconfined builds of trials that were right in rehearsal, then speculative
        builds.
        """
        if self._rehearsing is None:
            return
        unbuilt, now = self._measuring.unbuilt, self._rehearsing.idle or self._ahead.due
        if due := self._promotion.due(len(self._trials), unbuilt, now=now):
            self._measuring.build(due)
        self._ahead.build()

    def _taken(self, one: Pass) -> Iterator[Record]:
        """Yield the records that follow from the builds of a pass."""
        for news in one.take():
            if not isinstance(news, BuildFailure):
                yield from self._judged(one, *news)
            elif news.ident == REFERENCE:
                raise RuntimeError(f"the reference no longer compiles: {news.message}")
            elif one is self._rehearsing:
                self._go_on(news.ident)  # the unconfined build decides whether it compiles
            else:
                yield news.ident, not_built(news.message)

    def _answered(
        self,
        number: int,
        answer: tuple[Measurement | Refused, ...] | Measurement | Lost | Refused | Unanswered[int],
    ) -> Iterator[Record]:
        """Handle the answer to a task, the death of its worker, or the loss of its device."""
        evidence = self._evidence.on(number)
        if isinstance(answer, Unanswered):
            evidence.unanswered(number)
            for one in self._passes:
                if one.scheduler.has(number):
                    one.scheduler.again(number)
            return
        if number < 0:
            yield from self._proven(number, answer)
            return
        assert not isinstance(answer, Measurement)
        (one,) = (one for one in self._passes if one.scheduler.has(number))
        worked = isinstance(answer, tuple) and any(isinstance(a, Measurement) for a in answer)
        if worked:
            yield from self._believed(evidence.worked(number))
        else:
            evidence.died(number)
        for result in one.scheduler.results(number, answer):
            held = self._told(one, result)
            if held is None:
                continue
            if worked:
                yield from self._believed([held])
            else:
                evidence.hold(held)

    def _told(self, one: Pass, result: Answered) -> Held | None:
        """Return the result of a trial in a pass; None if more has to be done first."""
        ident = result.ident
        evaluation = self._memory.judged(result, one.trial(ident).edits, one.sampling.floor)
        if evaluation is None and isinstance(result.answer, Measurement):
            assert one is self._measuring, "nothing is timed in a rehearsal"
            self._confirm(ident)
            return None
        if evaluation is None:
            one.scheduler.repeat(ident)
            return None
        if one is not self._rehearsing or ident not in self._elsewhere:
            return one, ident, evaluation
        self._elsewhere.remove(ident)
        if evaluation.right or evaluation.survival is Survival.REFUSED:
            self._measuring.scheduler.confirm(ident)
            return None
        if evaluation.harmful:
            self._memory.risk.died()
        return self._measuring, ident, evaluation

    def _confirm(self, ident: int) -> None:
        """Have a trial confirmed that looks faster.

        If that is worthwhile, its rehearsal build first runs on the sibling cases.
        """
        self._memory.risk.looked()
        how, rehearsing = self._how, self._rehearsing
        if how and rehearsing and self._fears and rehearsing.run_on(ident, how.siblings):
            self._elsewhere.add(ident)
        else:
            self._measuring.scheduler.confirm(ident)

    @property
    def _fears(self) -> bool:
        """Tell whether it is worthwhile to rehearse on the sibling cases."""
        how, risk = self._how, self._memory.risk
        return how is not None and risk.is_worth(how.elsewhere, self._equipment.death)

    def _proven(self, number: int, answer: object) -> Iterator[Record]:
        """Handle the result of the reference on its own, which tests whether the device works."""
        evidence = self._evidence.on(number)
        if isinstance(answer, Measurement) and answer.correct:
            yield from self._believed(evidence.proven(number))
            return
        assert isinstance(answer, Measurement | Lost | Refused)
        try:
            evidence.not_proven(number, answer.message)
        except DeviceLost as error:
            self._equipment.pool.leave(self._evidence.device(number), error)

    def _believed(self, results: Iterable[Held]) -> Iterator[Record]:
        """Yield the records of results that are now known to come from a working device."""
        for one, ident, evaluation in results:
            self._account.worked(evaluation)
            for record in one.done(ident, evaluation):
                yield from self._judged(one, *record)

    def _judged(self, one: Pass, ident: int, evaluation: Evaluation) -> Iterator[Record]:
        """Yield the records that follow from a result, if any."""
        if one is not self._rehearsing:
            yield ident, evaluation
            return
        believed, again = self._schemata.judged(ident, evaluation)
        if again:
            one.build(again)
        for number, said in believed:
            self._promotion.rehearsed()
            if said.right or said.survival is Survival.REFUSED:
                self._go_on(number)
            else:
                yield number, replace(said, resources={}, code_key=None)

    def _go_on(self, ident: int) -> None:
        """Let a trial go on to its unconfined build."""
        if self._ahead.goes_on(ident):
            self._wakeup.ring()
        else:
            self._promotion.right.append(ident)
