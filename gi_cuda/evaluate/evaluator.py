"""Where genotypes become phenotypes, phenotypes binaries, and binaries evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace

from gi_cuda.backends.protocol.requests import Measure, Sampling
from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.evaluate.batch import REFERENCE, Batch, Equipment, PastResults, Record, Trial
from gi_cuda.evaluate.candidates import Candidate, as_candidate, candidate, unmodified
from gi_cuda.genome import Genotype
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the baseline found out about the reference.

    Attributes:
        loops: most iterations that a guarded loop may make, by loop number.
        sampling: how measurements are taken: noise floor and time limit among it.
    """

    loops: Mapping[int, int]
    sampling: Sampling


@dataclass(slots=True)
class Evaluator:
    """Evaluates individuals of one target.

    Attributes:
        subject: the target with its grammar and space.
        equipment: what batches are built and measured with.
        bounds: see :class:`Bounds`.
        memory: what earlier measurements say about later ones.
    """

    subject: Subject
    equipment: Equipment
    bounds: Bounds
    memory: PastResults = field(default_factory=PastResults)
    _reference: Trial | None = None
    _rehearses: bool | None = None
    _spent: Phases = field(default_factory=Phases)

    def take_phases(self) -> Phases:
        """Wall time spent since the last call, by phase."""
        spent, self._spent = self._spent, Phases()
        return spent

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """Render individuals with loop guards, as the search runs them, and preprocess them."""
        loops = self.bounds.loops
        sources = {ident: candidate(self.subject, one, loops) for ident, one in batch.items()}
        return self._trials(sources, batch)

    def _trials(
        self, sources: Mapping[int, Candidate], batch: Mapping[int, Genotype]
    ) -> dict[int, Trial]:
        """Preprocess sources of a batch, or of the reference, which is in none."""
        begun, launch_values = time.perf_counter(), self.subject.launch_values
        variants = [one.variant(ident) for ident, one in sources.items()]
        found = self.equipment.compiler.preprocess(variants)
        self._spent += Phases(preprocess=time.perf_counter() - begun)
        return {
            i: Trial(one.configuration, found[i], launch_values(one.configuration), batch.get(i))
            for i, one in sources.items()
        }

    def evaluate(
        self, batch: Mapping[int, Trial], stop: Callable[[], bool] = lambda: False
    ) -> Generator[Record, None, None]:
        """Build and measure a batch with the reference in front; yields records as they end.

        Where the subject can do that, all rehearse first, and only those whose answers are right
        then are built and measured as they are: at PTX level most are wrong, and one in ten would
        take its worker down.

        Records come out once for each individual, whatever it did to its worker. Individuals whose
        machine code was measured before share that measurement, and say so.

        Args:
            stop: asked now and then; if true, there are no more records.
        """
        if self._rehearses is None:
            self._rehearses = self._can_rehearse()
        if self._rehearses:
            batch = yield from self._rehearse(batch, stop)
        if batch:
            yield from self._measure(batch, self.bounds.sampling, stop)

    def _measure(
        self, batch: Mapping[int, Trial], sampling: Sampling, stop: Callable[[], bool]
    ) -> Generator[Record, None, None]:
        work = Batch(self.equipment, self._unmodified(), batch, sampling, self.memory)
        try:
            yield from work.run(stop)
        finally:
            self._spent += work.spent

    def _unmodified(self) -> Trial:
        if self._reference is None:
            trials = self._trials({REFERENCE: unmodified(self.subject)}, {})
            self._reference = trials[REFERENCE]
        return self._reference

    # -- rehearsals --------------------------------------------------------------------------

    def _rehearse(
        self, batch: Mapping[int, Trial], stop: Callable[[], bool]
    ) -> Generator[Record, None, Mapping[int, Trial]]:
        """Yields the records of those whose answers are wrong; gives those where they are right."""
        right: set[int] = set()
        trials = self._harmless({i: one.genotype for i, one in batch.items() if one.genotype})
        for ident, evaluation in self._measure(trials, self.bounds.sampling.untimed(), stop):
            if evaluation.right:
                right.add(ident)
            else:
                yield ident, replace(evaluation, resources={})
        return {} if stop() else {ident: one for ident, one in batch.items() if ident in right}

    def _harmless(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """Individuals made to do no harm, where the subject can do that."""
        loops = self.bounds.loops
        texts = {ident: self.subject.rehearsal(one, loops) for ident, one in batch.items()}
        sources = {
            ident: as_candidate(self.subject, text, batch[ident].configuration)
            for ident, text in texts.items()
            if text is not None
        }
        return self._trials(sources, batch)

    def _can_rehearse(self) -> bool:
        """Whether the reference gives the right answers in a rehearsal; if it does not, those of
        variants tell nothing."""
        if self.subject.rehearsal(self.subject.original, self.bounds.loops) is None:
            return False
        (trial,) = self._harmless({REFERENCE + 1: self.subject.original}).values()
        reference, equipment = self._unmodified(), self.equipment
        base, mine = sorted(equipment.build([reference, trial]), key=lambda one: one.ident)
        if isinstance(base, BuildFailure) or isinstance(mine, BuildFailure):
            return False
        programs = equipment.program(trial, mine), equipment.program(reference, base)
        answer = equipment.pool.one(Measure(*programs, self.bounds.sampling.untimed()))
        return isinstance(answer, Measurement) and answer.correct
