"""A batch of individuals from their compiler's input to their records; it may grow meanwhile.

Everything that happens, something built, a worker's answer or its death, comes to one loop, which
decides at once: what goes to the workers next, what is measured again, which record is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from queue import Empty, SimpleQueue
from typing import TypeAlias

from gi_cuda.backends.bell import Bell
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.backends.workers.pool import Lost, Task, Wants
from gi_cuda.backends.workers.tasks import Unanswered
from gi_cuda.errors import DeviceLost
from gi_cuda.evaluate.batches.account import Account
from gi_cuda.evaluate.batches.ahead import Ahead
from gi_cuda.evaluate.batches.evidence import Evidence
from gi_cuda.evaluate.batches.parts import Parts
from gi_cuda.evaluate.batches.passes import REFERENCE, Equipment, Pass, Record, Trial, TrialBuilder
from gi_cuda.evaluate.batches.past_results import PastResults
from gi_cuda.evaluate.batches.promotion import Promotion
from gi_cuda.evaluate.batches.rehearsal import FirstRun, Rehearsal
from gi_cuda.evaluate.batches.scheduler import Answered
from gi_cuda.evaluate.batches.schemata import SchemaBuilder
from gi_cuda.results.evaluation import Evaluation, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement, Survival

STOP_ASKED = 0.1
"""Seconds after which it is asked whether to stop, where nothing happens."""

PROOF_SLACK = 10.0
"""Times the limit of a variant that the reference may take where it shows that the device works."""

Held: TypeAlias = tuple[Pass, int, Evaluation]
"""What became of an individual in a pass."""


class Batch:
    """Builds and measures trials beside the reference, once.

    Those that rehearse are first built confined, and those of them whose answers are right then are
    built and measured as they are; while the first are measured, the last are still compiled. Those
    that look faster may rehearse on the siblings too, before they run there as they are.
    What a trial takes is given back when it is over.

    Args:
        equipment: to do it with.
        reference: what they are timed beside.
        trials: the batch, by their numbers.
        sampling: how they are measured.
        memory: is asked and told.
        first: which of them rehearse, if any do.
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
        self._bell = Bell()
        self._growing = self._left = False
        self._promotion = Promotion(equipment.compiler)
        self._ahead = Ahead(equipment.compiler, self._measuring)
        self._how: Rehearsal | None = None
        self._elsewhere = set[int]()
        self._evidence: Evidence[Held] = Evidence()
        self._account = Account()
        self.add(trials, first)

    def add(self, trials: Mapping[int, Trial], first: FirstRun | None) -> None:
        """Take more trials, from any thread.

        Args:
            first: which of them rehearse, if any do.
        """
        self._added.put((trials, first))
        self._bell.ring()

    def end(self) -> None:
        """No more trials come. To be called from any thread."""
        self._growing = False
        self._bell.ring()

    def leave(self) -> None:
        """Nobody wants any more records. To be called from any thread."""
        self._left = True
        self._bell.ring()

    def _begin(self) -> None:
        """Begin to build what was added."""
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
        # Workers that are not there yet open the device beside the compiler.
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
        """The later one first: what is nearer to its end goes before."""
        return [self._measuring, *([self._rehearsing] if self._rehearsing else [])]

    def run(
        self, stop: Callable[[], bool], *, growing: bool = False
    ) -> Generator[Record, None, None]:
        """Yields records as individuals are done.

        Args:
            stop: if true, there are no more records.
            growing: whether trials may be added until :meth:`end` says otherwise.

        Raises:
            DeviceLost: nothing works on the device any more, not even the reference.
        """
        pool = self._equipment.pool
        self._growing = growing
        try:
            since = time.perf_counter()
            self._begin()
            while not (self._settled or self._left or stop()):
                compiling, idle = self.compiles, self._idle
                news = [descriptor for one in self._passes for descriptor in one.news]
                answers = pool.wait(STOP_ASKED, self._bell.heard, *news)
                self._bell.hush()
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
                    since = time.perf_counter()  # nothing went on but what the caller did
        except DeviceLost as error:
            raise self._evidence.lost(error.said) from None
        finally:
            pool.abandon()
            for one in self._passes:
                one.close()

    @property
    def spent(self) -> Phases:
        """Wall time so far, by phase. To be asked from any thread."""
        return self._account.spent

    @property
    def compiles(self) -> bool:
        """Whether something is being compiled."""
        return any(one.compiles for one in self._passes)

    def _forget(self, ident: int) -> None:
        """A trial is over."""
        for one in self._passes:
            one.forget(ident)
        self._parts.forget(ident)
        del self._trials[ident]

    @property
    def _settled(self) -> bool:
        """Whether all that there is was measured, and can be believed."""
        return self._idle and not self._growing and self._added.empty()

    @property
    def _idle(self) -> bool:
        """Whether there is nothing to do but to wait for more."""
        idle = all(one.idle for one in self._passes)
        return idle and not self._promotion.right and not self._evidence.held

    def _feed(self) -> None:
        """Send the workers what they can take."""
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
        """Have those compiled as they are that were right in their rehearsal, and then some of
        those that probably will be."""
        if self._rehearsing is None:
            return
        unbuilt, now = self._measuring.unbuilt, self._rehearsing.idle or self._ahead.due
        if due := self._promotion.due(len(self._trials), unbuilt, now=now):
            self._measuring.build(due)
        self._ahead.build()

    def _taken(self, one: Pass) -> Iterator[Record]:
        """What a pass has built."""
        for news in one.take():
            if not isinstance(news, BuildFailure):
                yield from self._judged(one, *news)
            elif news.ident == REFERENCE:
                raise RuntimeError(f"the reference no longer compiles: {news.message}")
            elif one is self._rehearsing:
                self._go_on(news.ident)  # it is the other compiler's to say
            else:
                yield news.ident, not_built(news.message)

    def _answered(
        self,
        number: int,
        answer: tuple[Measurement | Refused, ...] | Measurement | Lost | Refused | Unanswered[int],
    ) -> Iterator[Record]:
        """A task was answered, a worker died over it, or its device is not used any more."""
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
        """What became of a trial in a pass; None where more is to be done first."""
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
        """A trial looks faster: have that confirmed; where that is worth while once it is right on
        the siblings in the code of its rehearsal, if it had one."""
        self._memory.risk.looked()
        how, rehearsing = self._how, self._rehearsing
        if how and rehearsing and self._fears and rehearsing.run_on(ident, how.siblings):
            self._elsewhere.add(ident)
        else:
            self._measuring.scheduler.confirm(ident)

    @property
    def _fears(self) -> bool:
        """Whether it is worth while to rehearse on the siblings."""
        how, risk = self._how, self._memory.risk
        return how is not None and risk.is_worth(how.elsewhere, self._equipment.death)

    def _proven(self, number: int, answer: object) -> Iterator[Record]:
        """The reference ran by itself; what that says of its device."""
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
        """The records of what the device is known to have worked for."""
        for one, ident, evaluation in results:
            self._account.worked(evaluation)
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
            self._promotion.rehearsed()
            if said.right or said.survival is Survival.REFUSED:
                self._go_on(number)
            else:
                yield number, replace(said, resources={}, code_key=None)

    def _go_on(self, ident: int) -> None:
        """A trial goes on as it is."""
        if self._ahead.goes_on(ident):
            self._bell.ring()
        else:
            self._promotion.right.append(ident)
