"""Where genotypes become phenotypes, phenotypes binaries, and binaries measurements.

This is the one place that knows grammar, compiler and workers together.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

import xxhash

from gi_cuda.backends.compile.background import BackgroundBuild
from gi_cuda.backends.protocol.requests import Measure, Program, Refused, Sampling
from gi_cuda.backends.protocol.variants import (
    Binary,
    BuildFailure,
    Built,
    Compiler,
    Phenotype,
    Variant,
)
from gi_cuda.backends.workers.pool import MOMENT, Lost, Pool
from gi_cuda.evaluate.fatal_edits import FatalEdits
from gi_cuda.evaluate.scheduler import Answer, Answered, MeasurementScheduler
from gi_cuda.genome import Edit, Genotype
from gi_cuda.results.evaluation import Evaluation, lost, measured, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import is_suspicious
from gi_cuda.spec import Configuration
from gi_cuda.subject.protocol import Evolvable

T = TypeVar("T")

REFERENCE = 0
"""The number of the reference in every batch."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A source text together with the configuration that it is compiled and launched with, and the
    edits that made it."""

    ident: int
    text: str
    configuration: Configuration
    macros: Mapping[str, str]
    edits: tuple[Edit, ...] = ()


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
        compiler: the back end's.
        pool: workers of a session on the same target.
        cases: names of the cases that give fitness.
        folder: where binaries may be written; emptied after each batch.
        bounds: see :class:`Bounds`.
        together: most variants that share a measurement.
        best: the best ratio seen so far; what beats it by far is measured twice.
        codes: individual and record by machine code, of all that was measured before.
        fatal_edits: edits that took workers down before.
    """

    subject: Evolvable
    compiler: Compiler
    pool: Pool[int]
    cases: tuple[str, ...]
    folder: Path
    bounds: Bounds
    together: int = 1
    best: float = 1.0
    codes: dict[bytes, tuple[int, Evaluation]] = field(default_factory=dict)
    fatal_edits: FatalEdits = field(default_factory=FatalEdits)
    _trials: dict[int, Trial] = field(default_factory=dict)
    _phenotypes: dict[int, Phenotype | BuildFailure] = field(default_factory=dict)
    _rehearses: bool | None = None
    _spent: Phases = field(default_factory=Phases)

    def take_phases(self) -> Phases:
        """Wall time spent since the last call, by phase."""
        spent, self._spent = self._spent, Phases()
        return spent

    # -- phenotypes --------------------------------------------------------------------------

    def trial(self, ident: int, genotype: Genotype) -> Trial:
        """An individual's source with loop guards, as the search runs it."""
        text = self.subject.render(genotype, self.bounds.loops)
        configuration = genotype.configuration
        macros = self.subject.macros(configuration)
        return Trial(ident, text, configuration, macros, genotype.edits)

    def reference(self) -> Trial:
        """The unmodified device code in the default configuration."""
        subject = self.subject
        macros = subject.macros(subject.standard)
        return Trial(REFERENCE, subject.reference, subject.standard, macros)

    def _rehearsal(self, ident: int, genotype: Genotype) -> Trial | None:
        """An individual made to do no harm, where the subject can do that."""
        text = self.subject.rehearsal(genotype, self.bounds.loops)
        configuration = genotype.configuration
        if text is None:
            return None
        macros = self.subject.macros(configuration)
        return Trial(ident, text, configuration, macros, genotype.edits)

    def phenotypes(self, batch: Mapping[int, Genotype]) -> dict[int, bytes | None]:
        """Phenotypic tabu keys; None for what does not preprocess."""
        trials = {ident: self.trial(ident, genotype) for ident, genotype in batch.items()}
        self._trials.update(trials)
        self._phenotypes.update(self._preprocess(list(trials.values())))
        keys = {ident: self._key(ident, genotype) for ident, genotype in batch.items()}
        if REFERENCE in trials and trials[REFERENCE] != self.reference():
            del self._phenotypes[REFERENCE]  # what a search starts from may be another one
        return keys

    def _key(self, ident: int, genotype: Genotype) -> bytes | None:
        phenotype = self._phenotypes[ident]
        if isinstance(phenotype, BuildFailure):
            return None
        # One source launched in two geometries is two phenotypes.
        launch = self.subject.launch_values(genotype.configuration)
        return xxhash.xxh3_128_digest(phenotype.key + launch.encode())

    def _preprocess(self, trials: Sequence[Trial]) -> dict[int, Phenotype | BuildFailure]:
        begun = time.perf_counter()
        variants = [
            Variant(t.ident, t.text, t.macros, self.subject.options(t.configuration))
            for t in trials
        ]
        found = self.compiler.preprocess(variants)
        self._spent += Phases(preprocess=time.perf_counter() - begun)
        return found

    # -- binaries ----------------------------------------------------------------------------

    def build(
        self, trials: Sequence[Trial], known: Mapping[int, Phenotype | BuildFailure]
    ) -> Iterator[Built]:
        """Compile trials as one batch; answers come as shards end.

        The files stay until the next batch.

        Args:
            known: what preprocessing gave already, by number of the trial.
        """
        rest = self._preprocess([trial for trial in trials if trial.ident not in known])
        everything = {**known, **rest}
        found = [everything[trial.ident] for trial in trials]
        shutil.rmtree(self.folder, ignore_errors=True)
        ready = [one for one in found if isinstance(one, Phenotype)]
        failed = [one for one in found if isinstance(one, BuildFailure)]
        return chain(failed, self.compiler.compile(ready, self.folder))

    def program(self, trial: Trial, binary: Binary) -> Program:
        """How a trial runs the cases that give fitness."""
        return Program(binary, dict(trial.configuration), self.cases)

    # -- measurements ------------------------------------------------------------------------

    def evaluate(
        self, batch: Mapping[int, Genotype], stop: Callable[[], bool] = lambda: False
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Build and measure a batch with the reference in front; yields records as they end.

        Where the subject can do that, all rehearse first, and only those whose answers are right
        then are built and measured as they are: at PTX level most are wrong, and one in ten would
        take its worker down.

        Records come out once for each individual, whatever it did to its worker. Individuals whose
        machine code was measured before share that measurement, and say so.

        Args:
            stop: asked while all wait for the compiler; if true, there are no more records.
        """
        kept = {REFERENCE, *batch}
        self._phenotypes = {i: p for i, p in self._phenotypes.items() if i in kept}
        made, self._trials = self._trials, {}
        if self._rehearses is None:
            self._rehearses = self._can_rehearse()
        if self._rehearses:
            right = set()
            rehearsals = {ident: self._rehearsal(ident, one) for ident, one in batch.items()}
            trials = {ident: trial for ident, trial in rehearsals.items() if trial}
            untimed = self.bounds.sampling.untimed()
            for ident, evaluation in self._perform(trials, {}, untimed, stop):
                if evaluation.right:
                    right.add(ident)
                else:
                    yield ident, replace(evaluation, resources={})
            batch = {ident: one for ident, one in batch.items() if ident in right}
        if batch:
            trials = {i: made.get(i) or self.trial(i, genotype) for i, genotype in batch.items()}
            yield from self._perform(trials, self._phenotypes, self.bounds.sampling, stop)

    def _can_rehearse(self) -> bool:
        """Whether the reference gives the right answers in a rehearsal; if it does not, those of
        variants tell nothing."""
        trial = self._rehearsal(REFERENCE + 1, self.subject.original)
        if trial is None:
            return False
        reference = self.reference()
        base, binary = sorted(self.build([reference, trial], {}), key=lambda one: one.ident)
        if isinstance(base, BuildFailure) or isinstance(binary, BuildFailure):
            return False
        programs = self.program(trial, binary), self.program(reference, base)
        answer = self.pool.one(Measure(*programs, self.bounds.sampling.untimed()))
        return isinstance(answer, Measurement) and answer.correct

    def _perform(
        self,
        trials: Mapping[int, Trial],
        known: Mapping[int, Phenotype | BuildFailure],
        sampling: Sampling,
        stop: Callable[[], bool],
    ) -> Iterator[tuple[int, Evaluation]]:
        """Build and measure trials; yields records as they end."""
        reference = self.reference()
        sorter = _BatchResults(self, reference, trials, sampling)
        # Those that will probably crash come first: while one is cleared away nothing can be
        # measured, but there is still much to compile.
        likely = sorted(trials.values(), key=lambda one: self.fatal_edits.of(one.edits) is None)
        ahead = BackgroundBuild(self.build([reference, *likely], known))
        try:
            scheduler = MeasurementScheduler(self.together, rehearsal=not sampling.most)
            requests = sorter.requests(iter(ahead))
            if self.compiler.disturbs:
                requests = _once_built(requests, stop)
            for ident, evaluation in self._measure(trials, requests, scheduler, ahead):
                yield from sorter.take_unbuilt()
                yield ident, sorter.complete(ident, evaluation)
        finally:
            ahead.close()
        yield from sorter.take_unbuilt()
        yield from sorter.twins()

    def _measure(
        self,
        trials: Mapping[int, Trial],
        requests: Iterator[tuple[int, Measure] | None],
        scheduler: MeasurementScheduler,
        ahead: BackgroundBuild,
    ) -> Iterator[tuple[int, Evaluation]]:
        """Measure what is built as it comes."""
        begun = time.perf_counter()
        run = verify = paused = 0.0
        try:
            # Workers that are not there yet open the device beside the compiler.
            self.pool.restock()
            for number, answer in self.pool.map(scheduler.tasks(requests)):
                for result in scheduler.results(number, answer):
                    evaluation = self._evaluation(result, trials[result.ident].edits)
                    if evaluation is None:
                        scheduler.repeat(result.ident)
                        continue
                    run, verify = run + evaluation.run_seconds, verify + evaluation.verify_seconds
                    away = time.perf_counter()
                    yield result.ident, evaluation
                    paused += time.perf_counter() - away
        finally:
            compiled = ahead.seconds
            rest = max(0.0, time.perf_counter() - begun - paused - compiled)
            share = verify / (run + verify) if run + verify else 0.0
            self._spent += Phases(compile=compiled, run=rest * (1 - share), verify=rest * share)

    def _evaluation(self, result: Answered, edits: Sequence[Edit]) -> Evaluation | None:
        """What a result says of an individual; None where that is to happen once more, alone,
        before it is believed.

        A worker's death over an edit that is known for it has happened before.
        """
        evaluation = self._verdict(result.answer)
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

    def _verdict(self, answer: Answer) -> Evaluation:
        match answer:
            case Lost(survival, message):
                return lost(survival, message)
            case Refused(message):
                return lost(Survival.REFUSED, message)
        return measured(answer, self.bounds.sampling.floor)

    def _suspicious(self, evaluation: Evaluation) -> bool:
        """Whether a result looks too good; a plausible one becomes the mark to beat."""
        if not evaluation.selectable or evaluation.ratio is None:
            return False
        suspicious = is_suspicious(evaluation.ratio, self.best)
        self.best = min(self.best, evaluation.ratio)
        return suspicious


def _once_built(requests: Iterator[T | None], stop: Callable[[], bool]) -> Iterator[T]:
    """All requests together once the compiler is done; none where it is to stop before."""
    found = []
    for one in requests:
        if one is not None:
            found.append(one)
        elif stop():
            return
        else:
            time.sleep(MOMENT)
    yield from found


class _BatchResults:
    """Sorts a batch's binaries: what failed, what is to be measured, what was measured before."""

    def __init__(
        self,
        evaluator: Evaluator,
        reference: Trial,
        trials: Mapping[int, Trial],
        sampling: Sampling,
    ) -> None:
        self._evaluator = evaluator
        self._reference = reference
        self._trials = trials
        self._sampling = sampling
        self._unbuilt: list[tuple[int, Evaluation]] = []
        self._binaries: dict[int, Binary] = {}
        self._twins: list[tuple[int, bytes]] = []
        self._pending: set[bytes] = set()

    def requests(self, built: Iterator[Built | None]) -> Iterator[tuple[int, Measure] | None]:
        """What is to be measured, as it becomes ready; nothing before the reference is."""
        evaluator, base, early = self._evaluator, None, []
        for one in built:
            if one is None:
                yield None
            elif isinstance(one, BuildFailure):
                if one.ident == REFERENCE:
                    raise RuntimeError(f"the reference no longer compiles: {one.message}")
                self._unbuilt.append((one.ident, not_built(one.message)))
            elif one.ident == REFERENCE:
                base = evaluator.program(self._reference, one)
                evaluator.pool.ready_for(base)
            else:
                early.append(one)
            while base is not None and early:
                binary = early.pop(0)
                if not self._is_twin(binary):
                    trial = self._trials[binary.ident]
                    program = evaluator.program(trial, binary)
                    yield binary.ident, Measure(program, base, self._sampling)

    def _is_twin(self, binary: Binary) -> bool:
        self._binaries[binary.ident] = binary
        key = self._code_key(binary)
        if key is None:
            return False
        if key in self._pending or key in self._evaluator.codes:
            self._twins.append((binary.ident, key))
            return True
        self._pending.add(key)
        return False

    def _code_key(self, binary: Binary) -> bytes | None:
        """Machine code together with how it is launched."""
        if binary.code_key is None:
            return None
        configuration = self._trials[binary.ident].configuration
        launch = self._evaluator.subject.launch_values(configuration)
        return xxhash.xxh3_128_digest(binary.code_key + launch.encode())

    def take_unbuilt(self) -> Iterator[tuple[int, Evaluation]]:
        """What failed to compile since the last call."""
        unbuilt, self._unbuilt = self._unbuilt, []
        yield from unbuilt

    def complete(self, ident: int, evaluation: Evaluation) -> Evaluation:
        """A record with what the build knows; remembered for twins to come."""
        binary = self._binaries[ident]
        key = self._code_key(binary)
        evaluation = replace(evaluation, code_key=key, resources=binary.resources)
        if key is not None:
            self._evaluator.codes[key] = (ident, evaluation)
        return evaluation

    def twins(self) -> Iterator[tuple[int, Evaluation]]:
        """Individuals with the machine code of another, which its measurement serves too if there
        was one."""
        for ident, key in self._twins:
            if key not in self._evaluator.codes:
                continue
            other, evaluation = self._evaluator.codes[key]
            said = f"same machine code as individual {other}"
            message = f"{said}; {evaluation.message}" if evaluation.message else said
            yield ident, replace(evaluation, message=message)
