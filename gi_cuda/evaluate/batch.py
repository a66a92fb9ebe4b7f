"""One batch of individuals from their compiler's input to their records.

Everything that happens, something built, a worker's answer or its death, comes to one loop, which
decides at once: what goes to the workers next, what is measured again, which record is done.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import xxhash

from gi_cuda.backends.compile.background import BackgroundBuild
from gi_cuda.backends.protocol.requests import Measure, Program, Refused, Sampling
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.fatal_edits import FatalEdits
from gi_cuda.evaluate.scheduler import Answer, Answered, MeasurementScheduler
from gi_cuda.genome import Edit, Genotype
from gi_cuda.results.evaluation import Evaluation, lost, measured, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import is_suspicious
from gi_cuda.spec import Configuration

Record: TypeAlias = tuple[int, Evaluation]
"""An individual's number and its evaluation."""

REFERENCE = 0
"""The number of the reference in every batch."""

STOP_ASKED = 0.1
"""Seconds after which it is asked whether to stop, where nothing happens."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An individual that is ready to be compiled.

    Attributes:
        configuration: what it is compiled and launched with.
        phenotype: its source after preprocessing, or why there is none.
        launch: the values that decide its launches and buffers.
        genotype: what it was made of; None: it is the reference.
    """

    configuration: Configuration
    phenotype: Phenotype | BuildFailure
    launch: str
    genotype: Genotype | None = None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that made it."""
        return self.genotype.edits if self.genotype else ()

    @property
    def key(self) -> bytes | None:
        """The phenotypic tabu key; None for what does not preprocess. One source launched in two
        geometries is two phenotypes."""
        return self._with_launch(getattr(self.phenotype, "key", None))

    def code_key(self, binary: Binary) -> bytes | None:
        """Key of its machine code together with how it is launched, where the back end knows it."""
        return self._with_launch(binary.code_key)

    def _with_launch(self, key: bytes | None) -> bytes | None:
        return None if key is None else xxhash.xxh3_128_digest(key + self.launch.encode())


@dataclass(frozen=True, slots=True)
class Equipment:
    """What batches are built and measured with.

    Attributes:
        compiler: the back end's.
        pool: workers of a session on the target.
        folder: where binaries may be written; emptied before each batch.
        cases: names of the cases that give fitness.
        together: most variants that share a measurement.
    """

    compiler: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]
    together: int = 1

    def build(self, trials: Sequence[Trial]) -> Iterator[Built]:
        """Compile trials as one batch, the first of which is the reference; answers come as shards
        end. The others are lent kernels of the reference that they do not change. The files stay
        until the next batch."""
        shutil.rmtree(self.folder, ignore_errors=True)
        found = [trial.phenotype for trial in trials]
        ready = [one for one in found if isinstance(one, Phenotype)]
        failed = [one for one in found if isinstance(one, BuildFailure)]
        if isinstance(reference := found[0], Phenotype):
            ready = [reference, *self.compiler.without_lent(ready[1:], reference)]
        return chain(failed, self.compiler.compile(ready, self.folder))

    def program(self, trial: Trial, binary: Binary) -> Program:
        """How a trial runs the cases that give fitness."""
        return Program(binary, dict(trial.configuration), self.cases)


@dataclass(slots=True)
class PastResults:
    """What earlier measurements say about later ones.

    Attributes:
        best: the best ratio seen so far; what beats it by far is measured twice.
        codes: individual and record by machine code, of all that was measured.
        fatal_edits: edits that took workers down.
    """

    best: float = 1.0
    codes: dict[bytes, Record] = field(default_factory=dict)
    fatal_edits: FatalEdits = field(default_factory=FatalEdits)

    def judged(self, result: Answered, edits: Sequence[Edit], floor: float) -> Evaluation | None:
        """What a result says of an individual; None where that is to happen once more, alone,
        before it is believed.

        A worker's death over an edit that is known for it has happened before.
        """
        evaluation = _evaluation(result.answer, floor)
        if not isinstance(result.answer, Lost):
            doubtful = not result.final and self._suspicious(evaluation)
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

    def _suspicious(self, evaluation: Evaluation) -> bool:
        """Whether a result looks too good; a plausible one becomes the mark to beat."""
        if not evaluation.selectable or evaluation.ratio is None:
            return False
        suspicious = is_suspicious(evaluation.ratio, self.best)
        self.best = min(self.best, evaluation.ratio)
        return suspicious


def _evaluation(answer: Answer, floor: float) -> Evaluation:
    match answer:
        case Lost(survival, message):
            return lost(survival, message)
        case Refused(message):
            return lost(Survival.REFUSED, message)
    return measured(answer, floor)


def _twin(record: Record) -> Evaluation:
    """The record of an individual with the machine code of another."""
    other, evaluation = record
    said = f"same machine code as individual {other}"
    message = f"{said}; {evaluation.message}" if evaluation.message else said
    return replace(evaluation, message=message)


class Batch:
    """Builds and measures trials beside the reference, once.

    Args:
        equipment: to do it with.
        reference: what they are timed beside.
        trials: the batch, by their numbers.
        sampling: how they are measured.
        memory: is asked and told.

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
    ) -> None:
        self.spent = Phases()
        self._equipment = equipment
        self._trials = {REFERENCE: reference, **trials}
        self._sampling = sampling
        self._memory = memory
        self._scheduler = MeasurementScheduler(equipment.together, rehearsal=not sampling.most)
        self._base: Program | None = None
        self._early: list[Binary] = []
        self._binaries: dict[int, Binary] = {}
        self._twins: dict[bytes, list[int]] = {}
        self._run = self._verify = 0.0

    def run(self, stop: Callable[[], bool]) -> Iterator[Record]:
        """Yields records as individuals are done.

        Args:
            stop: if true, there are no more records.
        """
        pool, paused = self._equipment.pool, 0.0
        build = BackgroundBuild(self._equipment.build(self._in_order()))
        begun = time.perf_counter()
        try:
            # Workers that are not there yet open the device beside the compiler.
            pool.restock()
            while not (build.ended and self._scheduler.idle) and not stop():
                answers = pool.wait(STOP_ASKED, build.news)
                records = [record for one in build.take() for record in self._built(one)]
                records += [record for answer in answers for record in self._answered(*answer)]
                self._feed(built=build.ended)
                for record in records:
                    away = time.perf_counter()
                    yield record
                    paused += time.perf_counter() - away if build.ended else 0.0
        finally:
            pool.abandon()
            build.close()
            rest = max(0.0, time.perf_counter() - begun - paused - build.seconds)
            share = self._verify / (self._run + self._verify) if self._run + self._verify else 0.0
            self.spent = Phases(compile=build.seconds, run=rest * (1 - share), verify=rest * share)

    def _in_order(self) -> list[Trial]:
        """The reference, then those that will probably crash: while one is cleared away nothing
        can be measured, but there is still much to compile."""
        reference, *trials = self._trials.values()
        fatal = self._memory.fatal_edits
        return [reference, *sorted(trials, key=lambda one: fatal.of(one.edits) is None)]

    def _feed(self, *, built: bool) -> None:
        """Send the workers what they can take."""
        pool, compiler = self._equipment.pool, self._equipment.compiler
        if compiler.disturbs and not built:
            return
        while pool.has_room and (task := self._scheduler.next(more=not built)):
            pool.submit(task)

    def _built(self, one: Built) -> Iterator[Record]:
        """A variant was built or not; nothing is measured before the reference is there."""
        if isinstance(one, BuildFailure):
            if one.ident == REFERENCE:
                raise RuntimeError(f"the reference no longer compiles: {one.message}")
            yield one.ident, not_built(one.message)
            return
        self._early.append(one)
        if one.ident == REFERENCE:
            self._base = self._program(self._early.pop())
            self._equipment.pool.ready_for(self._base)
        while self._base and self._early:
            yield from self._ready(self._early.pop(0), self._base)

    def _ready(self, binary: Binary, base: Program) -> Iterator[Record]:
        """A binary can be measured, unless the same machine code was or is about to be."""
        binary = binary.beside(base.binary)
        self._binaries[binary.ident] = binary
        key = self._trials[binary.ident].code_key(binary)
        if key in self._memory.codes:
            yield binary.ident, _twin(self._memory.codes[key])
        elif key in self._twins:
            self._twins[key].append(binary.ident)
        else:
            if key is not None:
                self._twins[key] = []
            request = Measure(self._program(binary), base, self._sampling)
            self._scheduler.add(binary.ident, request)

    def _program(self, binary: Binary) -> Program:
        return self._equipment.program(self._trials[binary.ident], binary)

    def _answered(
        self, number: int, answer: tuple[Measurement | Refused, ...] | Lost | Refused
    ) -> Iterator[Record]:
        """A task was answered, or a worker died over it."""
        for result in self._scheduler.results(number, answer):
            edits, floor = self._trials[result.ident].edits, self._sampling.floor
            evaluation = self._memory.judged(result, edits, floor)
            if evaluation is None:
                self._scheduler.repeat(result.ident)
            else:
                yield from self._done(result.ident, evaluation)

    def _done(self, ident: int, evaluation: Evaluation) -> Iterator[Record]:
        """The records of an individual and of those with its machine code."""
        self._run += evaluation.run_seconds
        self._verify += evaluation.verify_seconds
        binary = self._binaries[ident]
        key = self._trials[ident].code_key(binary)
        record = ident, replace(evaluation, code_key=key, resources=binary.resources)
        yield record
        if key is not None:
            self._memory.codes[key] = record
            for twin in self._twins.pop(key):
                yield twin, _twin(record)
