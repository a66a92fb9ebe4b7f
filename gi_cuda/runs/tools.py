"""The workers and the compiler that a subject runs on."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gi_cuda.backends import cores
from gi_cuda.backends.compile.cached import keeping
from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.backends.protocol.programs import Sampling, Siblings
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.table import FIRST, backend_named, open_backend
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate import second_opinion
from gi_cuda.evaluate.baseline import Baseline
from gi_cuda.evaluate.batches.passes import Equipment
from gi_cuda.evaluate.batches.past_results import PastResults
from gi_cuda.evaluate.certification import Certification
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.rendering import Renderers
from gi_cuda.evaluate.replicates import Replicates
from gi_cuda.evaluate.scrutiny.blind_oracle import BlindOracle
from gi_cuda.evaluate.scrutiny.dependence import Dependence, opening
from gi_cuda.evaluate.scrutiny.device_code import DeviceCode
from gi_cuda.evaluate.scrutiny.elsewhere import BESIDE, Elsewhere
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.evaluate.scrutiny.for_gpus import ForGpus
from gi_cuda.evaluate.scrutiny.not_reached import NotReached
from gi_cuda.evaluate.scrutiny.originals import THOROUGH, Patience
from gi_cuda.evaluate.scrutiny.races import RaceWatch
from gi_cuda.evaluate.scrutiny.small_cases import SmallCases, small_cases
from gi_cuda.evaluate.scrutiny.tried_inputs import all_unsettled, nobody_knows
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals
from gi_cuda.spec import Case, CaseRole
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Tools:
    """A subject with the back end, the compiler and the workers that it runs on.

    Attributes:
        uncached: the compiler that compiles all it is given, for what nobody needs again.
        folder: of the run, or a scratch one.
        session: what a process of its own needs to run a variant as the pool's workers do.
        certification: the checks of winners.
        watcher: looks on a processor at what a search on a GPU would breed of; None where there is
            no such thing, or no processor to spare.
        asking: asks on the GPU instead, where a processor takes too long.
        renderers: that a search's individuals become sources in.
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
    watcher: Elsewhere | None = None
    asking: Dependence | None = None

    @property
    def reference(self) -> Path:
        """Where the reference's outputs are."""
        return self.session.reference

    def scratch(self, name: str) -> Path:
        """A folder for binaries."""
        return self.folder / "build" / name

    def equipment(self) -> Equipment:
        """What batches of individuals are built and measured with."""
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
        """Where individuals are evaluated.

        Args:
            past: what earlier measurements say about later ones.
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
        """What reads sources on the cases of one role.

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
        """The cases that give fitness."""
        return self.subject.cases(CaseRole.TRAIN)

    def held_out(self) -> tuple[str, ...]:
        """The cases that validate."""
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
        folder: a run's folder, or a scratch one.
        workers: measurements at a time on each device.
        jobs: compiler processes at a time.
        cache: of compiled code, if there is one.
        devices: see :func:`~gi_cuda.backends.table.open_backend`.
        siblings: cases that the pool's workers know besides those of the subject.
        server: of an earlier pool, if it has the cases already.
        isolated: whether variants are somebody else's work (see :class:`Session`).

    Raises:
        UserError: the subject's back end cannot be used here.
    """
    backend = open_backend(subject.backend, devices)
    names = subject.all_cases
    first, *_ = backend.devices
    place = folder / "reference"
    # On a GPU nothing has to be isolated, and a process for each request takes half a second.
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
            # Beside a search, whose compiler and workers are busy.
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


def _elsewhere(subject: Subject, folder: Path, jobs: int, opened: ExitStack) -> Elsewhere | None:
    """Who looks for races of a GPU's source on the processor as well."""
    if subject.compiled or not backend_named(subject.backend).gpu:
        return None
    return Elsewhere(subject, folder, jobs, opened=opened)


@contextmanager
def with_cases(tools: Tools, cases: Sequence[Case], reference: Path) -> Iterator[Tools]:
    """The same tools with a worker that has other cases; it ends with the context.

    Args:
        reference: where the reference's outputs on them are, or go.
    """
    names = tuple(case.name for case in cases)
    target = tools.subject.target
    others = tuple(case for case in target.cases if case.name not in names)
    target = replace(target, cases=(*others, *cases))
    session = replace(tools.session, target=target, cases=names, reference=reference)
    with _alone(session) as pool:
        yield replace(tools, pool=pool, session=session)


def _knowing(session: Session, cases: Sequence[Case]) -> Session:
    """A session with more cases."""
    target = replace(session.target, cases=(*session.target.cases, *cases))
    return replace(session, target=target, cases=(*session.cases, *(one.name for one in cases)))


def _alone(session: Session) -> Pool[int]:
    """One worker, of a session of its own."""
    return Pool[int](session, Crew(1))
