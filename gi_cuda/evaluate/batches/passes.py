"""Passes: trials that go through one compiler and then to the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

import xxhash

from gi_cuda.backends.background import Background
from gi_cuda.backends.leftovers import sweep
from gi_cuda.backends.protocol.programs import Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype
from gi_cuda.backends.workers.pool import Pool, Task
from gi_cuda.evaluate.batches.compiled_parts import Parts
from gi_cuda.evaluate.batches.scheduler import MeasurementScheduler
from gi_cuda.genome import Edit, Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.spec import Configuration

Record: TypeAlias = tuple[int, Evaluation]
"""An individual's number and its evaluation."""

REFERENCE = 0
"""The number of the reference in every batch."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An individual that is ready to be compiled.

    Attributes:
        configuration: configuration for its compilation and launch.
        phenotype: its source after preprocessing, or the error.
        launch: values that determine its launches and buffers, as text.
        genotype: its genotype; None for the reference.
    """

    configuration: Configuration
    phenotype: Phenotype | BuildFailure
    launch: str
    genotype: Genotype | None = None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits of its genotype."""
        return self.genotype.edits if self.genotype else ()

    @property
    def key(self) -> bytes | None:
        """The tabu key of the phenotype; None if preprocessing failed.

        It includes the launch: one source launched in two geometries is two phenotypes.
        """
        return self._with_launch(getattr(self.phenotype, "key", None))

    def code_key(self, binary: Binary) -> bytes | None:
        """Return a key of its machine code and launch; None if the back end has no such key."""
        return self._with_launch(binary.code_key)

    def _with_launch(self, key: bytes | None) -> bytes | None:
        return None if key is None else xxhash.xxh3_128_digest(key + self.launch.encode())


@dataclass(frozen=True, slots=True)
class Equipment:
    """The compilers and workers that build and measure batches.

    Attributes:
        compiler: the back end's compiler, with a cache.
        uncached: the same compiler without the cache, for measuring compile times.
        pool: workers of a session on the target.
        folder: for binaries.
        cases: names of the cases that give fitness.
        together: largest number of variants that share a measurement.
        death: seconds for which a worker's death blocks the device.
    """

    compiler: Compiler
    uncached: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]
    together: int = 1
    death: float = 0.0

    def program(self, trial: Trial, binary: Binary) -> Program:
        """Return the program that runs a trial on the cases that give fitness."""
        return Program(binary, dict(trial.configuration), self.cases)


class TrialBuilder:
    """A builder of trials, in parts; unchanged kernels are taken from the reference's binary.

    Args:
        compiler: compiles the trials.
        trials: trials by number, including the reference.
        parts: parts that the builders of a batch share.
    """

    def __init__(self, compiler: Compiler, trials: Mapping[int, Trial], parts: Parts) -> None:
        self.compiler = compiler
        self.trials = trials
        self._parts = parts

    def trial(self, ident: int) -> Trial:
        """Return the trial with a number."""
        return self.trials[ident]

    def forget(self, ident: int) -> None:
        """Release a trial that has ended."""

    def built(self, idents: Sequence[int], folder: Path) -> Iterator[Built]:
        """Build trials; yield binaries and failures."""
        yield from self.compiled([self.trials[ident].phenotype for ident in idents], folder)

    def compiled(self, found: Sequence[Phenotype | BuildFailure], folder: Path) -> Iterator[Built]:
        """Compile texts of a batch; yield binaries and failures, also failures of preprocessing."""
        yield from (one for one in found if isinstance(one, BuildFailure))
        ready = [one for one in found if isinstance(one, Phenotype)]
        reference = self.trials[REFERENCE].phenotype
        assert isinstance(reference, Phenotype), "the reference was preprocessed"
        yield from self._parts.compiled(self.compiler, ready, reference, folder)


@dataclass(frozen=True, slots=True)
class _Build:
    """Trials that are being built.

    Attributes:
        going: background job that yields the results.
        ahead: numbers of the speculative builds.
    """

    going: Background[Built]
    ahead: frozenset[int]


_PASSES = count()
"""Numbers for the folders of passes: the folder of an old pass may still exist."""


class Pass:
    """Trials of a batch that are built and measured in one way, beside the reference built in this
    way.

    Args:
        equipment: compilers and workers.
        builder: builds the trials.
        folder: for binaries; each pass uses a folder of its own below it.
        sampling: settings of the measurements.
        known: individual and record by machine code, from earlier measurements of this kind.
        numbers: source of task numbers.

    Attributes:
        base: the reference, once it is built.
    """

    def __init__(
        self,
        equipment: Equipment,
        builder: TrialBuilder,
        folder: Path,
        sampling: Sampling,
        known: dict[bytes, Record],
        numbers: Iterator[int],
    ) -> None:
        self.sampling = sampling
        self.scheduler = MeasurementScheduler(
            equipment.together,
            numbers,
            rehearsal=not sampling.most,
            devices=len(equipment.pool.devices),
        )
        self._equipment = equipment
        self._builder = builder
        self._folder = folder / str(next(_PASSES))
        self._known = known
        self._builds: list[_Build] = []
        self._unbuilt = set[int]()
        self._held: dict[int, Built | None] = {}
        self._released: list[Built] = []
        self._needed: dict[Path, set[int]] = {}
        self._numbers = count()
        self.base: Program | None = None
        self._early: list[Binary] = []
        self._binaries: dict[int, Binary] = {}
        self._twins: dict[bytes, list[int]] = {}

    def trial(self, ident: int) -> Trial:
        """Return the trial with a number."""
        return self._builder.trial(ident)

    def build(self, idents: Sequence[int]) -> None:
        """Start to build trials as one batch; the first batch includes the reference."""
        number = next(self._numbers)
        idents = idents if number else (REFERENCE, *idents)
        folder = self._folder / str(number)
        if needing := {ident for ident in idents if ident in self._builder.trials}:
            self._needed[folder] = needing
        self._unbuilt.update(idents)
        going = Background(self._builder.built(tuple(idents), folder))
        self._builds.append(_Build(going, frozenset(self._held.keys() & idents)))

    def build_ahead(self, idents: Sequence[int]) -> None:
        """Start speculative builds; their results are held back until the trials are released."""
        self._held |= dict.fromkeys(idents)
        self.build(idents)

    def release(self, ident: int) -> None:
        """Use the speculative build of a trial, finished or not."""
        if (built := self._held.pop(ident)) is not None:
            self._released.append(built)

    def builds(self, ident: int) -> bool:
        """Tell whether a trial is being built."""
        return ident in self._unbuilt

    def forget(self, ident: int) -> None:
        """Release a trial that has ended; remove binaries that no other trial needs."""
        self._builder.forget(ident)
        self._binaries.pop(ident, None)
        self._held.pop(ident, None)
        self.scheduler.forget(ident)
        for folder, needing in list(self._needed.items()):
            needing.discard(ident)
            if not needing:
                del self._needed[folder]
                sweep(folder)

    @property
    def news(self) -> list[int]:
        """File descriptors that become readable when something was built."""
        return [one.going.news for one in self._builds]

    @property
    def compiles(self) -> bool:
        """Tell whether something is being compiled."""
        return bool(self._builds)

    @property
    def unbuilt(self) -> int:
        """The number of trials that are being built."""
        return len(self._unbuilt)

    @property
    def begun(self) -> bool:
        """Tell whether a build was ever started."""
        return self.base is not None or self.compiles

    @property
    def idle(self) -> bool:
        """Tell whether nothing is being compiled or measured, except speculative builds."""
        return not (self._released or any(map(self._is_wanted, self._builds))) and (
            self.scheduler.idle
        )

    def _is_wanted(self, build: _Build) -> bool:
        return not build.ahead or any(
            ident in self._unbuilt and ident not in self._held for ident in build.ahead
        )

    def close(self) -> None:
        """Stop all builds."""
        for one in self._builds:
            one.going.close()
        sweep(self._folder)

    def take(self) -> Iterator[Record | BuildFailure]:
        """Schedule new binaries for measurement.

        Yield build failures, and records of binaries whose machine code was measured before.
        """
        for one in self._news():
            if isinstance(one, BuildFailure):
                yield one
                continue
            self._early.append(one)
            if one.ident == REFERENCE:
                self.base = self._program(self._early.pop())
                self._equipment.pool.ready_for(self.base)
        while self.base and self._early:
            yield from self._ready(self._early.pop(0), self.base)

    def _news(self) -> Iterator[Built]:
        """Yield new build results, except those that are held back."""
        released, self._released = self._released, []
        yield from released
        for build in list(self._builds):
            for one in build.going.take():
                self._unbuilt.discard(one.ident)
                if one.ident in self._held:
                    self._held[one.ident] = one
                else:
                    yield one
            if build.going.ended:
                self._builds.remove(build)
                build.going.close()

    def _ready(self, binary: Binary, base: Program) -> Iterator[Record]:
        """Schedule a binary for measurement, unless its machine code is known or already
        scheduled.
        """
        binary = binary.beside(base.binary)
        self._binaries[binary.ident] = binary
        key = self.trial(binary.ident).code_key(binary)
        if key in self._known:
            yield binary.ident, _twin(self._known[key])
        elif key in self._twins:
            self._twins[key].append(binary.ident)
        else:
            if key is not None:
                self._twins[key] = []
            self.scheduler.add(binary.ident, Measure(self._program(binary), base, self.sampling))

    def _program(self, binary: Binary) -> Program:
        return self._equipment.program(self.trial(binary.ident), binary)

    def run_on(self, ident: int, siblings: Siblings) -> bool:
        """Schedule a trial's build of this pass on other cases; tell whether that is possible."""
        binary, base = self._binaries.get(ident), self.base
        if binary is None or base is None or not siblings.cases:
            return False
        program = replace(self._program(binary), cases=siblings.cases)
        sampling = replace(self.sampling, limit=siblings.limit)
        self.scheduler.add(ident, Measure(program, base, sampling))
        return True

    def next(
        self, *, compiling: bool, expecting: bool = False, at_once: bool = False
    ) -> Task[int] | None:
        """Return the next task for a worker; None if there is none.

        Args:
            compiling: whether something is being compiled, for this pass or another one.
            expecting: whether further trials will arrive besides those being compiled.
            at_once: whether much faster variants run on the sibling cases in their first
                measurement.
        """
        timed = self.sampling.most > 0
        if timed and compiling and self._builder.compiler.disturbs:
            return None
        return self.scheduler.next(more=self.compiles or expecting, at_once=at_once)

    def done(self, ident: int, evaluation: Evaluation) -> Iterator[Record]:
        """Yield the records of an individual and of those with the same machine code."""
        binary = self._binaries[ident]
        key = self.trial(ident).code_key(binary)
        record = ident, replace(evaluation, code_key=key, resources=binary.resources)
        yield record
        if key is not None:
            self._known[key] = record
            for twin in self._twins.pop(key):
                yield twin, _twin(record)


def _twin(record: Record) -> Evaluation:
    """Return the evaluation of an individual that has the machine code of another one."""
    other, evaluation = record
    said = f"same machine code as individual {other}"
    message = f"{said}; {evaluation.message}" if evaluation.message else said
    return replace(evaluation, message=message)
