"""Evaluation of genotypes: rendering, preprocessing, compilation and measurement."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from gi_cuda.backends.background import Background
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import REFERENCE, Equipment, Record, Trial
from gi_cuda.evaluate.batches.rehearsal import FirstRun, Rehearsal, Rehearsals
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.rendering import Renderers
from gi_cuda.genome import Genotype
from gi_cuda.results.generation import Phases
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits and settings for measurements, from the baseline.

    Attributes:
        loops: iteration limit of each guarded loop, by loop number.
        sampling: settings of measurements, among them noise floor and time limit.
    """

    loops: Mapping[int, int]
    sampling: Sampling


@dataclass(slots=True)
class Evaluator:
    """An evaluator of individuals of one target.

    Attributes:
        subject: the target with its grammar and space.
        equipment: compilers and workers that build and measure batches.
        bounds: see :class:`Bounds`.
        memory: earlier measurements, used to predict later ones.
        renderers: processes that turn individuals into source text.
    """

    subject: Subject
    equipment: Equipment
    bounds: Bounds
    memory: PastResults = field(default_factory=PastResults)
    renderers: Renderers | None = None
    _reference: Trial | None = None
    _rehearsals: Rehearsals = field(default_factory=Rehearsals)
    _how: tuple[Rehearsal | None] | None = None
    _spent: Phases = field(default_factory=Phases)
    _told: Phases = field(default_factory=Phases)
    _work: Batch | None = None

    def take_phases(self) -> Phases:
        """Return the wall time spent since the last call, by phase."""
        now = self._spent + self._work.spent if self._work else self._spent
        new, self._told = now - self._told, now
        return new

    def get_ready(self) -> None:
        """Prepare rehearsals now, so that the first individuals need not wait."""
        self._rehearsal()

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """Render individuals with loop guards, as the search runs them, and preprocess them."""
        loops = self.bounds.loops
        renderers = self.renderers or Renderers(self.subject, 0)
        return self._trials(renderers.candidates(batch, loops), batch)

    def _trials(
        self, sources: Mapping[int, Candidate], batch: Mapping[int, Genotype]
    ) -> dict[int, Trial]:
        """Preprocess the sources of a batch, or of the reference, which has no genotype."""
        begun, launch_values = time.perf_counter(), self.subject.launch_values
        variants = [one.variant(ident) for ident, one in sources.items()]
        found = self.equipment.compiler.preprocess(variants)
        if self._work is None or not self._work.compiles:  # else it ran beside the compilers
            self._spent += Phases(preprocess=time.perf_counter() - begun)
        return {
            i: Trial(one.configuration, found[i], launch_values(one.configuration), batch.get(i))
            for i, one in sources.items()
        }

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool] = lambda: False,
        more: Callable[[], Mapping[int, Trial]] = dict,
    ) -> Generator[Record, None, None]:
        """Build and measure a batch, beside the reference; yield records as they are finished.

        If the back end supports it, all individuals are rehearsed first: they run as confined code,
        which does no harm. Only those that are right then are built and measured as they are.
        Rehearsals are skipped if so few individuals would crash or hang that they do not pay.

        Each individual gets exactly one record, even if it kills its worker. Individuals whose
        machine code was measured before share that measurement; their records say so.

        Evaluation continues in a thread while the caller does something else, e.g. breeds.

        Args:
            stop: called now and then, from another thread; if it returns True, only finished
                individuals get records.
            more: called after each record while there is more to come; returns further individuals,
                which are compiled while the rest is compiled and measured. If compiling would
                disturb timings, they form the next batch.
        """
        left, waiting = dict(batch), dict(batch)
        while waiting:
            work = self._work = self._batch(waiting)
            waiting = {}
            going = Background(work.run(stop, growing=True), "batch")
            try:
                for ident, evaluation in going.each():
                    trial = left.pop(ident)
                    self._rehearsals.enter(trial, evaluation)
                    self.memory.likely.enter(trial.edits, right=evaluation.right)
                    yield ident, evaluation
                    added = more() if left else {}
                    if added and not self.equipment.compiler.disturbs:
                        work.add(added, self._first_run(added, beside=len(left)))
                    elif added:
                        waiting |= added
                    left |= added
                    if left.keys() == waiting.keys():
                        work.end()
            finally:
                work.leave()
                going.close()
                self._spent += work.spent
                self._work = None
            if waiting and stop():
                return

    def _batch(self, trials: Mapping[int, Trial]) -> Batch:
        reference, sampling = self.unmodified(), self.bounds.sampling
        first = self._first_run(trials)
        return Batch(self.equipment, reference, trials, sampling, self.memory, first)

    def _first_run(self, trials: Mapping[int, Trial], beside: int = 0) -> FirstRun | None:
        how = self._rehearsal()
        return self._rehearsals.first_run(how, trials, beside) if how else None

    def _rehearsal(self) -> Rehearsal | None:
        """Return the settings of rehearsals; None if there are none. The result is cached."""
        if self._how is None:
            reference, sampling = self.unmodified(), self.bounds.sampling
            self._how = (rehearsal_of(self.subject, self.equipment, reference, sampling),)
        return self._how[0]

    def unmodified(self) -> Trial:
        """Return the reference, ready to be compiled."""
        if self._reference is None:
            trials = self._trials({REFERENCE: unmodified(self.subject)}, {})
            self._reference = trials[REFERENCE]
        return self._reference
