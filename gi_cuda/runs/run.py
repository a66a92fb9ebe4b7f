"""An opened run: its folder, its database, and the workers and compiler that a search needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.leftovers import REMOVE, afterwards
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.errors import UserError
from gi_cuda.evaluate.answers import Difference, answer_differences
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.evaluate.levels import check_source
from gi_cuda.evaluate.reference.baseline import Baseline, compile_reference, record_reference
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
    """Measurement of individuals on cases that were not used to choose any of them.

    Attributes:
        measurer: measures individuals beside the original of the search.
        words: description of the cases, for messages.
    """

    measurer: GenotypeMeasurer
    words: str

    def judge(self) -> GenotypeMeasurer:
        """Return a measurer with so few timings that it only tells right from wrong."""
        once = replace(self.measurer.replicates, repeats=JUDGEMENT.repeats)
        return replace(self.measurer, replicates=once)

    def beside(self, genotype: Genotype) -> GenotypeMeasurer:
        """Return a measurer that times individuals beside the given one."""
        return self.measurer.beside(genotype)


@dataclass(frozen=True, slots=True)
class Look:
    """Settings for measuring candidates on the held-out cases.

    Attributes:
        name: of the folder for binaries.
        repeats: number of builds and timings of each candidate.
        fresh: whether each candidate runs in a new process.
        confidence: of the interval over all cases.
    """

    name: str
    repeats: Repeats
    fresh: bool
    confidence: float = REPEATED


VALIDATION = Look("validate", THOROUGH, fresh=True)
"""Settings that yield the reported speedup of a winner."""

GLANCE = Look("glance", Repeats(builds=1), fresh=False)
"""Settings that are enough to rank most candidates."""

JUDGEMENT = Look("judgement", Repeats(builds=1, pairs=1), fresh=False)
"""Settings that only tell right from wrong."""

HEATS = Repeats(builds=1, pairs=7)
"""Number of builds and timings for a rough order of candidates."""


class OtherKinds(Protocol):
    """Machines of other kinds than the run's own, whose measurements count in validations."""

    def validations(
        self,
        here: Sequence[Reading],
        candidates: Sequence[Candidate],
        look: Look,
        beside: Candidate | None,
    ) -> list[Validation]:
        """Combine the readings of candidates on this machine with those of all other kinds."""


class RunEvaluator(FitnessEvaluator[Any], Protocol):
    """Interface of the evaluator of a run's individuals."""

    def take_phases(self) -> Phases:
        """Return the wall time spent since the last call, by phase."""


@dataclass(frozen=True, slots=True)
class Run:
    """An opened run.

    Attributes:
        others: machines of other kinds whose readings count too; None if there are none.
    """

    folder: Path
    plan: Plan
    baseline: Baseline
    store: Store
    tools: Tools
    others: OtherKinds | None = None

    @property
    def subject(self) -> Subject:
        """The subject that the run evolves."""
        return self.tools.subject

    @property
    def source(self) -> Subject:
        """The subject that the run evolves, checked to be source code.

        Raises:
            UserError: the subject is PTX.
        """
        return check_source(self.subject)

    @property
    def preset(self) -> Preset:
        """The search preset of the run.

        Raises:
            UserError: no preset has that name any more.
        """
        return find_preset(self.plan.preset, str(self.folder))

    @property
    def started(self) -> Started | None:
        """The start of the run and its speedup; None if the run started from the reference."""
        return self.store.load("started", Started)

    @property
    def beside(self) -> str:
        """Name of the start that :meth:`measurer` times beside; "" if it times beside the
        reference.
        """
        started = self.started
        return started.name if started is not None and self.subject.compiled else ""

    def evaluator(self) -> Evaluator:
        """Return the evaluator of the run's individuals."""
        return self.tools.evaluator(self.baseline, PastResults(self.store.codes()))

    def evolution(
        self, stop: Callable[[], bool] = lambda: False, evaluator: RunEvaluator | None = None
    ) -> Evolution:
        """Return the run's search, new or resumed.

        Args:
            stop: called between evaluations; the search ends when it returns True.
            evaluator: evaluates the individuals; None for the run's own workers.
        """
        start, evaluator = stored_start(self.store), evaluator or self.evaluator()
        original = None if start is None else self.subject.starting(start)
        believed: FitnessEvaluator[Any] = evaluator
        # Without cohorts the second opinion would delay the end of each generation.
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
        """Return the run with a new total number of generations, which is stored."""
        plan = replace(self.plan, settings=replace(self.plan.settings, generations=generations))
        self.store.put(plan=asdict(plan))
        return replace(self, plan=plan)

    def validate(
        self,
        candidates: Sequence[Candidate],
        beside: Candidate | None = None,
        confidence: float = REPEATED,
    ) -> list[Validation]:
        """Validate sources on the held-out cases, in new processes.

        Args:
            beside: candidate that the sources are timed beside; None for the reference.
            confidence: of the interval over all cases.
        """
        return self._validations(candidates, replace(VALIDATION, confidence=confidence), beside)

    def glance(self, candidates: list[Candidate]) -> list[Validation]:
        """Validate with one build each, in existing processes: enough to rank most candidates."""
        return self._validations(candidates, GLANCE)

    def judge(self, candidates: list[Candidate]) -> list[Validation]:
        """Check candidates on the held-out cases without regard to their speed."""
        return self._validations(candidates, JUDGEMENT)

    def heats(self, candidates: list[Candidate]) -> list[Validation]:
        """Measure candidates on the train cases and the siblings of the held-out cases.

        A search may know both, so this does not use up the held-out cases.
        """
        replicates = self._replicates(CaseRole.TRAIN, "heats")
        cases = (*replicates.cases, *self.baseline.siblings)
        read = replace(replicates, cases=cases, repeats=HEATS).read(candidates)
        return [validation(reading) for reading in read]

    def answers(self, one: Candidate) -> Mapping[str, Difference] | None:
        """Return the differences between a candidate's and the reference's outputs on held-out
        cases.
        """
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
            beside: candidate that the sources are timed beside; None for the reference.
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
        """Return a measurer of individuals on the cases of one role.

        The individuals are rendered as a maintainer would get them, and timed beside the original
        of the search. The original is the reference, or, in a run on PTX that started from a winner
        of the source, that winner.

        Args:
            builds, pairs: of each individual; one build and one pair are enough to tell right from
                wrong.
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
        """Yield a confirmer on cases that neither the search nor a validation saw.

        Each individual runs in a new process. The workers end with the context.

        Raises:
            UserError: the reference fails on these cases.
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
    """Report a removed run folder as the cause of any error inside the context.

    Raises:
        UserError: the run's folder was removed or replaced.
    """
    store.check_there()
    try:
        yield
    except Exception:
        try:
            store.check_there()
        except UserError:
            # Compilers may have created the folder again; remove it if it is empty.
            with suppress(OSError):
                folder.rmdir()
            raise
        raise


@contextmanager
def open_run(
    folder: Path, cache: CodeCache | None = None, server: ForkServer | None = None
) -> Iterator[Run]:
    """Open a stored run to resume it.

    Args:
        cache: a cache of compiled code.
        server: fork server of the pool that created the run, if it still holds the cases.

    Raises:
        UserError: there is no run, another process works on it, its target changed, or it is
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
    """Yield the same run with new workers and compilers, for use when the old ones may hang."""
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
    """Start the workers and the compiler for resuming a stored run."""
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
