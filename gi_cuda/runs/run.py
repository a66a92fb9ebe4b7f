"""A run: its folder, its database, and all that a search needs, opened together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.backends.leftovers import REMOVE, afterwards
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.errors import UserError
from gi_cuda.evaluate.answers import Difference, answer_differences
from gi_cuda.evaluate.baseline import Baseline, compile_reference, record_reference
from gi_cuda.evaluate.batches.past_results import PastResults
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.evaluate.levels import check_source
from gi_cuda.evaluate.replicates import (
    BUILDS,
    PAIRS,
    THOROUGH,
    GenotypeMeasurer,
    Repeats,
    Replicates,
)
from gi_cuda.evaluate.second_opinion import SecondOpinion
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Validation, validation
from gi_cuda.results.generation import Phases
from gi_cuda.results.speed_up import REPEATED, Reading
from gi_cuda.runs.lock import locked
from gi_cuda.runs.stored import (
    Plan,
    open_store,
    stored_baseline,
    stored_plan,
    stored_start,
    stored_subject,
)
from gi_cuda.runs.tools import Tools, open_tools, with_cases
from gi_cuda.search import Preset, find_preset
from gi_cuda.search.breeding import FitnessEvaluator
from gi_cuda.search.loop import Evolution
from gi_cuda.spec import CaseRole, confirm_cases, siblings
from gi_cuda.store import Store
from gi_cuda.subject import Started, Subject


@dataclass(frozen=True, slots=True)
class Confirmer:
    """Reads individuals on cases by which nothing was chosen.

    Attributes:
        measurer: beside what has none of their changes.
        words: what the cases are, for people.
    """

    measurer: GenotypeMeasurer
    words: str

    def judge(self) -> GenotypeMeasurer:
        """What tells right from wrong, and no more."""
        once = replace(self.measurer.replicates, repeats=JUDGEMENT.repeats)
        return replace(self.measurer, replicates=once)

    def beside(self, genotype: Genotype) -> GenotypeMeasurer:
        """What reads individuals beside another one."""
        return self.measurer.beside(genotype)


@dataclass(frozen=True, slots=True)
class Look:
    """How candidates are read on the held-out cases.

    Attributes:
        name: of the folder for binaries.
        repeats: how often each is measured.
        fresh: whether each is so in processes that ran nothing before.
        confidence: of the interval over all cases.
    """

    name: str
    repeats: Repeats
    fresh: bool
    confidence: float = REPEATED


VALIDATION = Look("validate", THOROUGH, fresh=True)
"""What a winner's speed-up is said from."""

GLANCE = Look("glance", Repeats(builds=1), fresh=False)
"""Enough to tell most apart."""

JUDGEMENT = Look("judgement", Repeats(builds=1, pairs=1), fresh=False)
"""Enough to tell right from wrong, and no more."""

HEATS = Repeats(builds=1, pairs=7)
"""Enough to put some in order."""


class OtherKinds(Protocol):
    """Machines of other kinds than a run's own, which have a say in what holds."""

    def validations(
        self,
        here: Sequence[Reading],
        candidates: Sequence[Candidate],
        look: Look,
        beside: Candidate | None,
    ) -> list[Validation]:
        """What all kinds together say of candidates, given what was read of them here."""


class RunEvaluator(FitnessEvaluator[Any], Protocol):
    """Where a run's individuals are evaluated."""

    def take_phases(self) -> Phases:
        """Wall time spent since the last call, by phase."""


@dataclass(frozen=True, slots=True)
class Run:
    """An opened run.

    Attributes:
        others: whose readings count besides those of this machine, where there are such.
    """

    folder: Path
    plan: Plan
    baseline: Baseline
    store: Store
    tools: Tools
    others: OtherKinds | None = None

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

    def evaluator(self) -> Evaluator:
        """Where its individuals are evaluated."""
        return self.tools.evaluator(self.baseline, PastResults(self.store.codes()))

    def evolution(
        self, stop: Callable[[], bool] = lambda: False, evaluator: RunEvaluator | None = None
    ) -> Evolution:
        """Its search, to begin or to go on with.

        Args:
            stop: asked between evaluations; True ends the search.
            evaluator: where its individuals are evaluated, if not by its own workers.
        """
        start, evaluator = stored_start(self.store), evaluator or self.evaluator()
        original = None if start is None else self.subject.starting(start)
        believed: FitnessEvaluator[Any] = evaluator
        # At the end of a generation all would wait for what is held back.
        if self.tools.watcher is not None and self.plan.settings.cohorts > 1:
            believed = SecondOpinion(evaluator, self.subject, self.tools.watcher, self.tools.asking)
        return Evolution(
            store=self.store,
            evaluator=believed,
            phases=evaluator.take_phases,
            strategy=self.preset.strategy(self.plan.settings),
            variation=self.preset.vary(self.subject, original),
            settings=self.plan.settings,
            seed=self.plan.seed,
            stop=stop,
        )

    def extended(self, generations: int) -> Run:
        """The run with so many generations to breed in all; stored."""
        plan = replace(self.plan, settings=replace(self.plan.settings, generations=generations))
        self.store.put(plan=asdict(plan))
        return replace(self, plan=plan)

    def validate(
        self,
        candidates: Sequence[Candidate],
        beside: Candidate | None = None,
        confidence: float = REPEATED,
    ) -> list[Validation]:
        """Validate sources on the held-out cases, in processes that ran nothing before.

        Args:
            beside: what they are timed beside, if that is not the reference.
            confidence: of the interval over all cases.
        """
        return self._validations(candidates, replace(VALIDATION, confidence=confidence), beside)

    def glance(self, candidates: list[Candidate]) -> list[Validation]:
        """The same of one build each, in processes that are there: enough to tell most apart."""
        return self._validations(candidates, GLANCE)

    def judge(self, candidates: list[Candidate]) -> list[Validation]:
        """Which of some are right on the held-out cases, whatever time they take."""
        return self._validations(candidates, JUDGEMENT)

    def heats(self, candidates: list[Candidate]) -> list[Validation]:
        """The same on the train cases and on the siblings of the held-out ones, which a search may
        know."""
        replicates = self._replicates(CaseRole.TRAIN, "heats")
        cases = (*replicates.cases, *self.baseline.siblings)
        read = replace(replicates, cases=cases, repeats=HEATS).read(candidates)
        return [validation(reading) for reading in read]

    def answers(self, one: Candidate) -> Mapping[str, Difference] | None:
        """How far the answers of a candidate are from the reference's on the held-out cases."""
        tools = self.tools
        cases, folder = self.subject.cases(CaseRole.HELD_OUT), tools.scratch("answers")
        limit = self.baseline.limit
        return answer_differences(
            one, cases, tools.reference, tools.compiler, tools.pool, folder, limit
        )

    def read_held_out(
        self, candidates: Sequence[Candidate], look: Look, beside: Candidate | None = None
    ) -> list[Reading]:
        """Read sources on the held-out cases, on this machine.

        Args:
            beside: what they are timed beside, if that is not the reference.
        """
        replicates = self._replicates(CaseRole.HELD_OUT, look.name)
        replicates = replace(replicates, fresh=look.fresh, repeats=look.repeats, beside=beside)
        return replicates.read(candidates)

    def _validations(
        self, candidates: Sequence[Candidate], look: Look, beside: Candidate | None = None
    ) -> list[Validation]:
        here = self.read_held_out(candidates, look, beside)
        if self.others is None:
            return [validation(reading, look.confidence) for reading in here]
        return self.others.validations(here, candidates, look, beside)

    def measurer(
        self, role: CaseRole, *, builds: int = BUILDS, pairs: int = PAIRS
    ) -> GenotypeMeasurer:
        """Reads individuals, as a maintainer would get them, on the cases of one role.

        Beside what has none of their changes: the reference, or in a run on PTX that started from a
        winner of the source, that.

        Args:
            builds, pairs: of each individual; one of one is enough to tell right from wrong.
        """
        return GenotypeMeasurer(
            replace(
                self._replicates(role, str(role)),
                repeats=Repeats(builds=builds, pairs=pairs),
                beside=candidate(self.subject, self.subject.original),
            )
        )

    @contextmanager
    def confirming(self) -> Iterator[Confirmer]:
        """Reads individuals on cases that neither the search nor a validation saw, each in a
        process of its own; the workers end with the context.

        Raises:
            UserError: the reference fails on them.
        """
        subject = self.subject
        found = confirm_cases(subject.target, subject.backend)
        folder = self.tools.scratch("confirm")
        with with_cases(self.tools, found.cases, folder / "reference") as tools:
            names = tools.session.cases
            (binary,) = compile_reference(subject, tools.compiler, [subject.reference], folder)
            program = unmodified(subject).program(binary, names)
            record_reference(subject, tools.pool, program, tools.reference)
            replicates = replace(
                self._replicates(CaseRole.TRAIN, "confirm"),
                pool=tools.pool,
                fresh=True,
                cases=names,
                beside=candidate(subject, subject.original),
                schedules={},
            )
            yield Confirmer(GenotypeMeasurer(replicates), found.words)

    def _replicates(self, role: CaseRole, name: str) -> Replicates:
        replicates = self.tools.replicates(role, self.baseline.limit, name)
        return replace(replicates, schedules=self.baseline.schedules)


@contextmanager
def _staying(store: Store, folder: Path) -> Iterator[None]:
    """Where a run's folder was removed, that is what is wrong, whatever comes of it."""
    store.check_there()
    try:
        yield
    except Exception:
        try:
            store.check_there()
        except UserError:
            # Compilers made it anew for what they write, of which nothing is left by now.
            with suppress(OSError):
                folder.rmdir()
            raise
        raise


@contextmanager
def open_run(
    folder: Path, cache: CodeCache | None = None, server: ForkServer | None = None
) -> Iterator[Run]:
    """Open a stored run to go on with it.

    Args:
        cache: of compiled code, if there is one.
        server: of the pool that it was made with, if that has the cases still.

    Raises:
        UserError: there is none, another process works on it, its target changed since, or it is
            removed while it is open.
    """
    with (
        open_store(folder) as store,
        locked(folder) as lock,
        afterwards(REMOVE, folder / "build", holding=[lock]),
        _staying(store, folder),
    ):
        subject = stored_subject(store, folder)
        plan, baseline = stored_plan(store), stored_baseline(store)
        with _tools(subject, folder, plan, baseline, cache, server) as tools:
            yield Run(folder, plan, baseline, store, tools)


@contextmanager
def with_new_workers(run: Run) -> Iterator[Run]:
    """The same run with other workers and compilers, where those that it has may hang."""
    with _tools(run.subject, run.folder, run.plan, run.baseline) as tools:
        yield replace(run, tools=tools)


def _tools(
    subject: Subject,
    folder: Path,
    plan: Plan,
    baseline: Baseline,
    cache: CodeCache | None = None,
    server: ForkServer | None = None,
) -> AbstractContextManager[Tools]:
    """Start the workers and the compiler that a stored run needs to go on."""
    more = siblings(subject.target, subject.backend)
    return open_tools(
        subject,
        folder,
        workers=plan.workers,
        jobs=plan.jobs,
        cache=cache,
        devices=plan.devices,
        siblings=[one for one in more if one.name in baseline.siblings],
        server=server,
    )
