"""The compiler, the worker pool and the checks that a subject runs with."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.backends import cores
from gi_cuda.backends.compile.caching.cached import keeping
from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.backends.protocol.programs import Sampling, Siblings
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.table import FIRST, backend_named, open_backend
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate import second_opinion
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import Equipment
from gi_cuda.evaluate.certification import Certification
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.evaluate.rendering import Renderers
from gi_cuda.evaluate.replicates import Replicates
from gi_cuda.evaluate.scrutiny.blind_oracle import BlindOracle
from gi_cuda.evaluate.scrutiny.device_code import DeviceCode
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.evaluate.scrutiny.for_gpus import ForGpus
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence, opening
from gi_cuda.evaluate.scrutiny.inputs.originals import THOROUGH, Patience
from gi_cuda.evaluate.scrutiny.inputs.tried_inputs import all_unsettled, nobody_knows
from gi_cuda.evaluate.scrutiny.not_reached import NotReached
from gi_cuda.evaluate.scrutiny.ordering.races import RaceWatch
from gi_cuda.evaluate.scrutiny.ordering.small_cases import SmallCases, small_cases
from gi_cuda.evaluate.scrutiny.processor_watch import BESIDE, ProcessorWatch
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals
from gi_cuda.spec import Case, CaseRole
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Tools:
    """A subject with its back end, compiler, worker pool and checks.

    Attributes:
        uncached: a compiler that bypasses the code cache, for code that nobody needs again.
        folder: the run's folder, or a scratch folder.
        session: settings with which a separate process runs a variant as the pool's workers do.
        certification: the checks of winners.
        watcher: in a search on a GPU, checks promising variants on the CPU; None if the subject
            cannot run there or too few cores are free.
        asking: asks on the GPU instead, where the CPU takes too long.
        renderers: processes that turn a search's individuals into source text.
    """

    subject: Subject
    backend: OpenBackend
    compiler: Compiler
    uncached: Compiler
    pool: Pool[int]
    folder: Path
    session: Session
    certification: Certification
    renderers: Renderers
    watcher: ProcessorWatch | None = None
    asking: Dependence | None = None

    @property
    def reference(self) -> Path:
        """Folder with the reference's outputs."""
        return self.session.reference

    def scratch(self, name: str) -> Path:
        """Return a folder for binaries."""
        return self.folder / "build" / name

    def equipment(self) -> Equipment:
        """Return the compilers and workers that build and measure batches of individuals."""
        return Equipment(
            self.compiler,
            self.uncached,
            self.pool,
            self.scratch("batch"),
            self.train(),
            self.backend.together,
            self.backend.death,
        )

    def evaluator(self, baseline: Baseline, past: PastResults) -> Evaluator:
        """Return an evaluator of individuals.

        Args:
            past: earlier measurements, used to predict later ones.
        """
        sampling = Sampling(
            floor=baseline.floor,
            limit=baseline.search_limit(self.backend.slack),
            schedules=baseline.schedules,
            siblings=Siblings(baseline.siblings, baseline.limit),
        )
        self.renderers.start()
        bounds = Bounds(baseline.loops, sampling)
        return Evaluator(self.subject, self.equipment(), bounds, past, self.renderers)

    def replicates(self, role: CaseRole, limit: float, name: str) -> Replicates:
        """Return the measurement of sources on the cases of one role.

        Args:
            limit: seconds after which a launch counts as hung.
            name: of the folder for binaries.
        """
        return Replicates(
            self.subject,
            self.compiler,
            self.pool,
            self.scratch(name),
            self.subject.cases(role),
            limit,
        )

    def train(self) -> tuple[str, ...]:
        """Return the names of the train cases, which give fitness."""
        return self.subject.cases(CaseRole.TRAIN)

    def held_out(self) -> tuple[str, ...]:
        """Return the names of the held-out cases, which validate winners."""
        return self.subject.cases(CaseRole.HELD_OUT)


@contextmanager
def open_tools(
    subject: Subject,
    folder: Path,
    *,
    workers: int,
    jobs: int,
    cache: CodeCache | None = None,
    devices: Collection[int] = FIRST,
    siblings: Sequence[Case] = (),
    server: ForkServer | None = None,
    isolated: bool = False,
) -> Iterator[Tools]:
    """Start the workers for a subject; they end with the context.

    Args:
        folder: a run's folder, or a scratch folder.
        workers: measurements at a time on each device.
        jobs: compiler processes at a time.
        cache: a cache of compiled code.
        devices: see :func:`~gi_cuda.backends.table.open_backend`.
        siblings: further cases that the pool's workers hold.
        server: fork server of an earlier pool, if it already holds the cases.
        isolated: whether variants are code of an untrusted author (see :class:`Session`).

    Raises:
        UserError: the subject's back end cannot be used here.
    """
    backend = open_backend(subject.backend, devices)
    names = subject.all_cases
    first, *_ = backend.devices
    place = folder / "reference"
    # On a GPU isolation is not needed, and a process for each request costs half a second.
    apart = isolated and not backend_named(subject.backend).gpu
    session = Session(subject.target, subject.backend, names, place, first, isolated=apart)
    uncached = backend.compiler(subject, jobs)
    compiler = keeping(uncached, cache)
    there = backend.processes(workers)
    crew = Crew(there.crew, backend.depth, there.extra, there.reserve, there.alike)
    small = small_cases(subject.target, subject.backend)
    knowing = _knowing(session, siblings)
    knowing = replace(knowing, cases=(*knowing.cases, *small))
    with Pool[int](knowing, crew, backend.devices, server) as pool, ExitStack() as opened:
        try:
            watched, place = subject.cases(CaseRole.HELD_OUT), folder / "build" / "races"
            substitutes = SmallCases(subject, small, watched, uncached, place, first, opened)
            beside = _elsewhere(subject, folder / "build" / "elsewhere", jobs, opened)
            races = RaceWatch(subject, session, uncached, place, watched, substitutes, beside)
            place = folder / "build" / "inputs"
            unsettled = beside.unsettled if beside else nobody_knows
            patience = THOROUGH if isolated else Patience()
            spare = cores() >= second_opinion.FEWEST
            # A compiler of their own: the search keeps the other compiler and the workers busy.
            own = keeping(backend.compiler(subject, jobs), cache) if spare else compiler
            less = replace(knowing, cases=small or watched)
            alone = opening(opened, less, max(1, there.crew // 2)) if spare and beside else None
            given = subject, own, pool, place, less.cases, unsettled
            inputs = Dependence(*given, patience=patience, alone=alone)
            place = folder / "build" / "locals"
            examined = Examined(subject, compiler)
            unset = UnsetLocals(subject, compiler, lambda: pool, place, session.cases, examined)
            blind = BlindOracle(subject.target, pool, session.cases)
            device_code = DeviceCode(
                examined, ForGpus(subject, folder / "build" / "for-gpus", jobs)
            )
            place = folder / "build" / "branches"
            reach = NotReached(subject, uncached, place, pool, session.cases, inputs)
            checks = Certification(blind, inputs, unset, races, device_code, reach)
            watcher = asking = None
            if spare and beside:
                place, role = folder / "build" / "second", CaseRole.TRAIN
                limit = second_opinion.LIMIT
                watcher = replace(beside, folder=place, role=role, limit=limit)
                trained = replace(session, cases=subject.cases(role))
                place = folder / "build" / "asked"
                asked = subject, own, None, place, trained.cases, all_unsettled
                alone = opening(opened, trained, 1)
                asking = Dependence(*asked, patience=BESIDE, alone=alone)
            renderers = opened.enter_context(closing(Renderers(subject)))
            parts = subject, backend, compiler, uncached, pool, folder, session, checks
            yield Tools(*parts, renderers, watcher, asking)
        finally:
            shutil.rmtree(folder / "build", ignore_errors=True)


def _elsewhere(
    subject: Subject, folder: Path, jobs: int, opened: ExitStack
) -> ProcessorWatch | None:
    """Return the check that runs a GPU's source on the CPU too; None for PTX or the host back
    end.
    """
    if subject.compiled or not backend_named(subject.backend).gpu:
        return None
    return ProcessorWatch(subject, folder, jobs, opened=opened)


@contextmanager
def with_cases(tools: Tools, cases: Sequence[Case], reference: Path) -> Iterator[Tools]:
    """Yield the same tools with one worker that holds other cases; it ends with the context.

    Args:
        reference: folder for the reference's outputs on these cases.
    """
    names = tuple(case.name for case in cases)
    target = tools.subject.target
    others = tuple(case for case in target.cases if case.name not in names)
    target = replace(target, cases=(*others, *cases))
    session = replace(tools.session, target=target, cases=names, reference=reference)
    with _alone(session) as pool:
        yield replace(tools, pool=pool, session=session)


def _knowing(session: Session, cases: Sequence[Case]) -> Session:
    """Return the session with more cases."""
    target = replace(session.target, cases=(*session.target.cases, *cases))
    return replace(session, target=target, cases=(*session.cases, *(one.name for one in cases)))


def _alone(session: Session) -> Pool[int]:
    """Return a pool of one worker with its own session."""
    return Pool[int](session, Crew(1))
