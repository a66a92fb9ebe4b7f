"""Where genotypes become phenotypes, phenotypes binaries, and binaries measurements.

This is the one place that knows grammar, compiler and workers together.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

from gi_cuda.build.model import Binary, BuildFailure, Built, Compiler, Phenotype, Variant
from gi_cuda.evaluation import Evaluation, lost, measured, not_built
from gi_cuda.execute.model import Measure, Measurement, Program, Refused, Sampling, Survival
from gi_cuda.execute.pool import Lost, Pool
from gi_cuda.genome import Genotype
from gi_cuda.store import Phases
from gi_cuda.subject import Subject
from gi_cuda.target import Configuration

REFERENCE = 0
"""The number of the reference in every batch."""

SUSPICIOUS = 0.6
"""A ratio below this share of the best one so far is measured again before it is believed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A source text together with the configuration that it is compiled and launched with."""

    ident: int
    text: str
    configuration: Configuration
    macros: Mapping[str, str]


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
class Laboratory:
    """Evaluates individuals of one target.

    Attributes:
        subject: the target with its grammar and space.
        compiler: the back end's.
        pool: workers of a session on the same target.
        cases: names of the cases that give fitness.
        folder: where binaries may be written; emptied after each batch.
        bounds: see :class:`Bounds`.
        best: the best ratio seen so far; what beats it by far is measured twice.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int]
    cases: tuple[str, ...]
    folder: Path
    bounds: Bounds
    best: float = 1.0
    _phenotypes: dict[int, Phenotype | BuildFailure] = field(default_factory=dict)
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
        return Trial(ident, text, configuration, self.subject.macros(configuration))

    def phenotypes(self, batch: Mapping[int, Genotype]) -> dict[int, bytes | None]:
        """Phenotypic tabu keys; None for what does not preprocess."""
        self._preprocess([self.trial(ident, genotype) for ident, genotype in batch.items()])
        return {ident: self._key(ident, genotype) for ident, genotype in batch.items()}

    def _key(self, ident: int, genotype: Genotype) -> bytes | None:
        phenotype = self._phenotypes[ident]
        if isinstance(phenotype, BuildFailure):
            return None
        # One source launched in two geometries is two phenotypes.
        launch = self.subject.launch_values(genotype.configuration)
        return xxhash.xxh3_128_digest(phenotype.key + launch.encode())

    def _preprocess(self, trials: Sequence[Trial]) -> None:
        begun = time.perf_counter()
        variants = [
            Variant(t.ident, t.text, t.macros, self.subject.options(t.configuration))
            for t in trials
        ]
        self._phenotypes.update(self.compiler.preprocess(variants))
        self._spent += Phases(preprocess=time.perf_counter() - begun)

    # -- binaries ----------------------------------------------------------------------------

    def build(self, trials: Sequence[Trial]) -> dict[int, Built]:
        """Compile trials as one batch; the answers by number. Files stay until the next batch."""
        self._preprocess([t for t in trials if t.ident not in self._phenotypes])
        begun = time.perf_counter()
        built: dict[int, Built] = {}
        ready = []
        for trial in trials:
            phenotype = self._phenotypes.pop(trial.ident)
            if isinstance(phenotype, BuildFailure):
                built[trial.ident] = phenotype
            else:
                ready.append(phenotype)
        shutil.rmtree(self.folder, ignore_errors=True)
        built.update((one.ident, one) for one in self.compiler.compile(ready, self.folder))
        self._spent += Phases(compile=time.perf_counter() - begun)
        return built

    def program(self, trial: Trial, binary: Binary, cases: Sequence[str]) -> Program:
        """How a trial runs the given cases."""
        return Program(binary, dict(trial.configuration), tuple(cases))

    # -- measurements ------------------------------------------------------------------------

    def evaluate(self, batch: Mapping[int, Genotype]) -> Iterator[tuple[int, Evaluation]]:
        """Build and measure a batch with the reference in front; yields records as they end.

        Records come out once for each individual, whatever it did to its worker.
        """
        trials = {ident: self.trial(ident, genotype) for ident, genotype in batch.items()}
        self._phenotypes = {i: p for i, p in self._phenotypes.items() if i in batch}
        reference = self.trial(REFERENCE, self.subject.original)
        built = self.build([reference, *trials.values()])
        base = built.pop(REFERENCE)
        if isinstance(base, BuildFailure):
            raise RuntimeError(f"the reference no longer compiles: {base.message}")
        base_program = self.program(reference, base, self.cases)
        requests = []
        for ident, one in built.items():
            if isinstance(one, BuildFailure):
                yield ident, not_built(one.message)
                continue
            program = self.program(trials[ident], one, self.cases)
            requests.append((ident, Measure(program, base_program, self.bounds.sampling)))
        yield from self._measure(requests)

    def _measure(self, requests: Sequence[tuple[int, Measure]]) -> Iterator[tuple[int, Evaluation]]:
        begun, paused = time.perf_counter(), 0.0
        run = verify = 0.0
        again: list[tuple[int, Measure]] = []
        by_ident = dict(requests)
        try:
            for ident, answer in self.pool.map(requests):
                evaluation = self._record(answer)
                if evaluation is None or self._suspicious(evaluation):
                    again.append((ident, by_ident[ident]))
                    continue
                run, verify = run + evaluation.run_seconds, verify + evaluation.verify_seconds
                away = time.perf_counter()
                yield ident, evaluation
                paused += time.perf_counter() - away
            for ident, request in again:
                # Nothing is final before it happened twice, the second time alone.
                evaluation = self._verdict(self.pool.one(request))
                run, verify = run + evaluation.run_seconds, verify + evaluation.verify_seconds
                away = time.perf_counter()
                yield ident, evaluation
                paused += time.perf_counter() - away
        finally:
            wall = time.perf_counter() - begun - paused
            share = verify / (run + verify) if run + verify else 0.0
            self._spent += Phases(run=wall * (1 - share), verify=wall * share)

    def _record(self, answer: Measurement | Lost | Refused) -> Evaluation | None:
        """The record of an answer; None for a lost worker, which is not final."""
        return None if isinstance(answer, Lost) else self._verdict(answer)

    def _verdict(self, answer: Measurement | Lost | Refused) -> Evaluation:
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
        if evaluation.ratio < SUSPICIOUS * self.best:
            self.best = evaluation.ratio
            return True
        self.best = min(self.best, evaluation.ratio)
        return False
