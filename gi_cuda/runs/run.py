"""A run: its folder, its database, and all that a search needs, opened together."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.backends.protocol.requests import Sampling
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.table import open_backend
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.baseline import Baseline, establish
from gi_cuda.evaluate.batch import Equipment, Memory
from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.levels import check_source
from gi_cuda.evaluate.replicates import (
    BUILDS,
    PAIRS,
    GenotypeMeasurer,
    Replicates,
    in_fresh_processes,
)
from gi_cuda.genome import Genotype
from gi_cuda.grammar import Source
from gi_cuda.results.evaluation import Validation, validation
from gi_cuda.runs.stored import Plan, stored_baseline, stored_plan, stored_start, stored_subject
from gi_cuda.search import Preset, find_preset
from gi_cuda.search.loop import Evolution
from gi_cuda.search.recipes import Variation
from gi_cuda.spec import CaseRole, content_hash, file_hashes
from gi_cuda.store import Store
from gi_cuda.subject import Start, Started, Subject

DATABASE = "run.db"
FINALISTS = 5
"""Individuals that are validated, best first, until one holds."""


@dataclass(frozen=True, slots=True)
class Tools:
    """A subject with the back end, the compiler and the workers that it runs on."""

    subject: Subject
    backend: OpenBackend
    compiler: Compiler
    pool: Pool[int]
    folder: Path

    @property
    def reference(self) -> Path:
        """Where the reference's outputs are."""
        return self.folder / "reference"

    def scratch(self, name: str) -> Path:
        """A folder for binaries."""
        return self.folder / "build" / name

    def equipment(self) -> Equipment:
        """What batches of individuals are built and measured with."""
        return Equipment(
            self.compiler, self.pool, self.scratch("batch"), self.train(), self.backend.together
        )

    def train(self) -> tuple[str, ...]:
        """The cases that give fitness."""
        return self.subject.cases(CaseRole.TRAIN)

    def held_out(self) -> tuple[str, ...]:
        """The cases that validate."""
        return self.subject.cases(CaseRole.HELD_OUT)


@contextmanager
def open_tools(subject: Subject, folder: Path, *, workers: int, jobs: int) -> Iterator[Tools]:
    """Start the workers for a subject; they end with the context.

    Args:
        folder: a run's folder, or a scratch one.

    Raises:
        UserError: the subject's back end cannot be used here.
    """
    backend = open_backend(subject.backend)
    names = (*subject.cases(CaseRole.TRAIN), *subject.cases(CaseRole.HELD_OUT))
    session = Session(subject.target, subject.backend, names, folder / "reference")
    compiler = backend.compiler(subject, jobs)
    crew, extra, reserve = backend.processes(workers)
    with Pool[int](session, crew, backend.depth, extra, reserve) as pool:
        try:
            yield Tools(subject, backend, compiler, pool, folder)
        finally:
            shutil.rmtree(folder / "build", ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Run:
    """An opened run."""

    folder: Path
    plan: Plan
    baseline: Baseline
    store: Store
    tools: Tools

    @property
    def subject(self) -> Subject:
        """What it evolves."""
        return self.tools.subject

    @property
    def source(self) -> Subject:
        """What it evolves, for those who need that to be source.

        Raises:
            UserError: it is PTX.
        """
        return check_source(self.subject)

    @property
    def preset(self) -> Preset:
        """How it searches.

        Raises:
            UserError: there is no preset of that name any more.
        """
        return find_preset(self.plan.preset, str(self.folder))

    @property
    def started(self) -> Started | None:
        """What it started from, if that is not the reference."""
        return self.store.load("started", Started)

    @property
    def beside(self) -> str:
        """What :meth:`measurer` measures beside, for people; "" where that is the reference."""
        started = self.started
        return started.name if started is not None and self.subject.compiled else ""

    def variation(self) -> Variation:
        """How its individuals vary."""
        start = stored_start(self.store)
        original = None if start is None else self.subject.starting(start)
        return self.preset.vary(self.subject, original)

    def evaluator(self) -> Evaluator:
        """Where its individuals are evaluated."""
        best = self.store.best(1)
        ratio = best[0][1].ratio if best else None
        return Evaluator(
            self.subject,
            self.tools.equipment(),
            Bounds(
                self.baseline.loops,
                Sampling(
                    floor=self.baseline.floor,
                    limit=self.baseline.limit,
                    backwards=self.baseline.backwards,
                ),
            ),
            Memory(1.0 if ratio is None else ratio, self.store.codes()),
        )

    def evolution(self, stop: Callable[[], bool] = lambda: False) -> Evolution:
        """Its search, to begin or to go on with.

        Args:
            stop: asked between evaluations; True ends the search.
        """
        evaluator = self.evaluator()
        return Evolution(
            store=self.store,
            evaluator=evaluator,
            phases=evaluator.take_phases,
            strategy=self.preset.strategy(self.plan.settings),
            variation=self.variation(),
            settings=self.plan.settings,
            seed=self.plan.seed,
            stop=stop,
        )

    def finalists(self) -> list[tuple[int, Genotype]]:
        """The best individuals on the train cases."""
        return [
            (one.ident, self.subject.read(one.genotype)) for one, _ in self.store.best(FINALISTS)
        ]

    def candidate(self, genotype: Genotype) -> Candidate:
        """An individual as a maintainer would get it: without loop guards."""
        return candidate(self.subject, genotype)

    def patched(self, source: Source, genotype: Genotype, own: frozenset[str]) -> Candidate:
        """A source as a patch leaves it: an individual's winning values are its own defaults.

        Args:
            own: macros that the source defines itself, so that nobody does from outside.
        """
        macros = self.source.upstream_macros(genotype)
        return Candidate(
            self.source.device_text(source),
            genotype.configuration,
            {name: text for name, text in macros.items() if name not in own},
            self.subject.options(genotype.configuration),
        )

    def extended(self, generations: int) -> Run:
        """The same run, to go on to so many generations in all; remembered."""
        plan = replace(self.plan, settings=replace(self.plan.settings, generations=generations))
        self.store.put(plan=asdict(plan))
        return replace(self, plan=plan)

    def validate(
        self, candidates: list[Candidate], beside: Candidate | None = None
    ) -> list[Validation]:
        """Validate sources on the held-out cases, in processes that ran nothing before.

        Args:
            beside: what they are timed beside, if that is not the reference.
        """
        tools = self.tools
        replicates = Replicates(
            self.subject,
            tools.compiler,
            tools.pool,
            in_fresh_processes(tools.pool),
            tools.scratch("validate"),
            tools.held_out(),
            self.baseline.limit,
            backwards=self.baseline.backwards,
            beside=beside,
        )
        return [validation(reading) for reading in replicates.read(candidates)]

    def session(self) -> Session:
        """What a process of its own needs to run a variant as the pool's workers do."""
        subject, names = self.subject, (*self.tools.train(), *self.tools.held_out())
        return Session(subject.target, subject.backend, names, self.tools.reference)

    def measurer(
        self, role: CaseRole, *, builds: int = BUILDS, pairs: int = PAIRS
    ) -> GenotypeMeasurer:
        """Reads individuals, as a maintainer would get them, on the cases of one role.

        Beside what has none of their changes: the reference, or in a run on PTX that started from a
        winner of the source, that.

        Args:
            builds, pairs: of each individual; one of one is enough to tell right from wrong.
        """
        tools = self.tools
        return GenotypeMeasurer(
            Replicates(
                self.subject,
                tools.compiler,
                tools.pool,
                tools.pool.map,
                tools.scratch(str(role)),
                self.subject.cases(role),
                self.baseline.limit,
                builds,
                pairs,
                self.candidate(self.subject.original),
                self.baseline.backwards,
            )
        )


def default_folder(target_name: str, root: Path = Path("runs")) -> Path:
    """The first ``runs/<target>-<n>`` that is not there yet."""
    number = 1
    while (root / f"{target_name}-{number}").exists():
        number += 1
    return root / f"{target_name}-{number}"


def _start(tools: Tools, start: Start, genotype: Genotype, limit: float) -> Started:
    """Measure a start beside the reference.

    Raises:
        UserError: it is wrong on the train cases.
    """
    replicates = Replicates(
        tools.subject,
        tools.compiler,
        tools.pool,
        tools.pool.map,
        tools.scratch("start"),
        tools.train(),
        limit,
    )
    (reading,) = replicates.read([candidate(tools.subject, genotype)])
    if not reading.right:
        raise UserError(
            f"it fails on the train cases: {reading.failure}",
            where=start.name,
            hint="start from another run, or from the reference",
        )
    return Started(start.name, reading.speed_up)


@contextmanager
def create_run(
    subject: Subject,
    folder: Path,
    plan: Plan,
    start: Start | None = None,
    *,
    overwrite: bool = False,
) -> Iterator[Run]:
    """Make a run's folder, establish its baseline, store both.

    The folder appears complete or not at all.

    Args:
        start: what the search starts from, if not from the reference; of a run on PTX, that of its
            subject.
        overwrite: a run that is in the folder makes room; it comes back where this one is not made.

    Raises:
        UserError: the folder exists, the reference fails its baseline, or the start fails on the
            train cases.
    """
    with _set_aside(folder) if overwrite else nullcontext():
        _check_free(folder)
        first = None if start is None else subject.starting(start)
        with _in_the_making(folder) as making:
            with open_tools(subject, making, workers=plan.workers, jobs=plan.jobs) as tools:
                baseline = establish(
                    subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
                )
                facts = _facts(subject, plan, baseline, tools.backend)
                if start is not None and first is not None:
                    started = _start(tools, start, first, baseline.limit)
                    facts |= {"start": asdict(start), "started": asdict(started)}
            with Store(making / DATABASE, create=True) as store:
                store.put(**facts)
    with open_run(folder) as run:
        yield run


def _check_free(folder: Path) -> None:
    if not folder.exists():
        return
    if (folder / DATABASE).is_file():
        raise UserError(
            "there is a run already",
            where=str(folder),
            hint="resume it (gi-cuda resume), name another (--run), or overwrite it (--force)",
        )
    what = "a folder that is no run" if folder.is_dir() else "a file"
    raise UserError(
        f"there is {what} in the place of the run",
        where=str(folder),
        hint="name another with --run, or remove it",
    )


@contextmanager
def _set_aside(folder: Path) -> Iterator[None]:
    """Move a run out of the way of another of its name; it is moved back where that is not made.

    Raises:
        UserError: the folder is not a run's; nothing else is ever removed.
    """
    if not folder.exists():
        yield
        return
    if not (folder / DATABASE).is_file():
        raise UserError(
            "the folder exists and is not a run, so --force does not remove it", where=str(folder)
        )
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    folder.rename(aside)
    try:
        yield
    finally:
        if folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(folder)


@contextmanager
def _in_the_making(folder: Path) -> Iterator[Path]:
    """A folder that gets its real name at the end; if it comes to none, nothing is left of it."""
    making = folder.parent / f".{folder.name}.{os.getpid()}.making"
    _clear_killed(folder)
    new = [path for path in (making, *making.parents) if not path.exists()]
    try:
        _make(making)
        yield making
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        for path in new[1:]:
            with suppress(OSError):
                path.rmdir()
        raise


def _clear_killed(folder: Path) -> None:
    """Remove what processes left that were killed while they made this run."""
    for left in folder.parent.glob(f".{folder.name}.*.making"):
        process = left.name.split(".")[-2]
        if not process.isdecimal():
            continue
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            shutil.rmtree(left, ignore_errors=True)
        except PermissionError:
            continue  # it lives, and is another user's


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(
            f"the run's folder cannot be made: {error.strerror}",
            where=str(folder.parent),
            hint="name another place with --run",
        ) from None


def _facts(
    subject: Subject, plan: Plan, baseline: Baseline, backend: OpenBackend
) -> dict[str, object]:
    return {
        "target": str(subject.target.folder),
        "target_hash": content_hash(subject.target),
        "target_files": file_hashes(subject.target),
        "grammar_hash": subject.fingerprint,
        "grammar_files": [str(path) for path in subject.grammar_files],
        "backend": subject.backend,
        "edits": subject.edits,
        "level": subject.level,
        "plan": asdict(plan),
        "baseline": asdict(baseline),
        "device": backend.device(),
        "versions": backend.versions(),
    }


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """A run's database alone, for looking at it.

    Raises:
        UserError: there is no run in the folder.
    """
    with Store(folder / DATABASE) as store:
        yield store


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from working on a run at the same time; a killed process keeps nobody out."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "another process is at work on this run",
                where=str(folder),
                hint="wait until it ends, or stop it",
            ) from None
        yield


@contextmanager
def open_run(folder: Path) -> Iterator[Run]:
    """Open a stored run to go on with it.

    Raises:
        UserError: there is none, or its target changed since.
    """
    with open_store(folder) as store, _alone(folder):
        subject = stored_subject(store, folder)
        plan = stored_plan(store)
        baseline = stored_baseline(store)
        with open_tools(subject, folder, workers=plan.workers, jobs=plan.jobs) as tools:
            yield Run(folder, plan, baseline, store, tools)
