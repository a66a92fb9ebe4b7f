"""Plain records of a stored run, for ``--json``, the page and the Python interface."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import gi_cuda
from gi_cuda.analyze.explain.explanation import sentences
from gi_cuda.analyze.finalists.winner import (
    Winner,
    how_to_go_on,
    stored_minimized,
    stored_winner,
    what_it_takes,
)
from gi_cuda.analyze.stored.milestones import milestones
from gi_cuda.analyze.stored.tuning_results import stored_rest
from gi_cuda.analyze.validate.acceptance import Acceptance
from gi_cuda.backends.table import ALL, backend_named
from gi_cuda.errors import UserError
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.grammar import Untested
from gi_cuda.results.evaluation import Evaluation, Outcome, Validation
from gi_cuda.results.generation import Generation, Individual, Phases
from gi_cuda.results.kinds import Objective
from gi_cuda.results.near_limit import NearLimit, near_limit
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import (
    Plan,
    stored_baseline,
    stored_ideas,
    stored_plan,
    stored_start,
    stored_subject,
    stored_untested,
)
from gi_cuda.store import Store
from gi_cuda.subject import Started, Subject


@dataclass(frozen=True, slots=True)
class IndividualRecord:
    """One individual and its evaluation.

    Attributes:
        individual: number in the run, from 1.
        generation: number of its generation, from 0.
        origin: name of the operator that made it.
        parents: numbers of its parents.
        genotype: genotype in notation; "" if it changes nothing.
        outcome: outcome of the evaluation; None if it is not evaluated yet.
        speed_up: speed-up on the train cases, reference time / its time; None if it was not timed.
        low, high: 95 % interval of the speed-up; None for an unknown or infinite end.
        message: message of the compiler, the worker or the oracle.
        resources: registers, spills etc. of its kernels, if the back end gives them.
    """

    individual: int
    generation: int
    origin: str
    parents: tuple[int, ...]
    genotype: str
    outcome: Outcome | None
    speed_up: float | None
    low: float | None
    high: float | None
    message: str
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """One generation.

    Attributes:
        generation: number of the generation, from 0.
        finished: whether all its individuals are evaluated.
        created: number of children made, including duplicates.
        genotype_duplicates, phenotype_duplicates: children that were dropped as duplicates.
        outcomes: number of individuals by outcome.
        best: speed-up of its best individual (the faster one whose interval has the highest lower
            end); None if none is faster.
        evaluations, seconds: evaluations and wall time of this and all earlier generations.
        sure: highest lower end of a speed-up's interval in this and all earlier generations; it
            never falls. None while none is faster.
        phases: time by phase, seconds.
    """

    generation: int
    finished: bool
    created: int
    genotype_duplicates: int
    phenotype_duplicates: int
    outcomes: Mapping[Outcome, int]
    best: float | None
    evaluations: int
    seconds: float
    sure: float | None
    phases: Phases


@dataclass(frozen=True, slots=True)
class MeasurementRecord:
    """One pair of timed runs of an individual and the reference, seconds."""

    individual: int
    case: str
    variant: float
    reference: float


@dataclass(frozen=True, slots=True)
class WinnerRecord:
    """The individual that ``patch`` writes.

    Attributes:
        individual: number of the individual.
        minimized: whether it was minimized.
        genotype: its genotype in notation, the minimized one if there is one.
        validation: validation of this genotype on the held-out cases.
        found: for a minimized winner, the individual as the search found it, validated beside it.
        changes: kind of each change in words, by notation; empty if the target is gone or has
            changed.
        diff: all changes as a diff; None if the target is gone or has changed.
    """

    individual: int
    minimized: bool
    genotype: str
    validation: Validation
    found: Winner | None
    changes: Mapping[str, str]
    diff: str | None

    def __str__(self) -> str:
        return f"individual {self.individual}" + (", minimized" if self.minimized else "")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run.

    Attributes:
        gi_cuda: the version that wrote this record.
        run, target: their folders.
        backend, device, versions: what it was measured with.
        commit: of the repository that the source was in; "" where it was in none.
        gpu: whether that is a GPU; times of a CPU say nothing of one.
        level: what evolves, ``source``, ``ptx`` or ``llvm``.
        edits: the set of rule types.
        plan: preset, seed and all numbers of the search.
        started: what it started from; None: from the reference.
        target_hash, grammar_hash: of what it depends on.
        reference_seconds: median time of the reference on the train cases.
        noise_floor: as a fraction.
        near_limit: how near the memory's limit the reference is on the train cases, and the
            individual that won, by name; none where that is not known.
        untested: what no case tests; None in runs of before that was looked for.
        generations: in order.
        phases: where the time of all went, seconds.
        individuals: the best, best first; the uncertain ones where none is faster.
        winner: None where there is none.
        acceptance: what ``validate`` said last; None where it was not asked.
        rest: of a run of ``tune``: the speed of the best configuration that was not measured over
            that of the best that was is at most this, with 95 % confidence; 0 where none is left;
            None where too few are measured, and for other runs.
        commands: those that reproduce the search and verify its winner, or search further.
    """

    gi_cuda: str
    run: str
    target: str
    backend: str
    device: str
    versions: Mapping[str, str]
    commit: str
    gpu: bool
    level: str
    edits: str
    plan: Plan
    started: Started | None
    target_hash: str
    grammar_hash: str
    reference_seconds: float
    noise_floor: float
    near_limit: Mapping[str, NearLimit]
    untested: Untested | None
    generations: tuple[GenerationRecord, ...]
    phases: Phases
    individuals: tuple[IndividualRecord, ...]
    winner: WinnerRecord | None
    acceptance: Acceptance | None
    rest: float | None
    commands: tuple[str, ...]


def run_record(store: Store, folder: Path, best: int, subject: Subject | None) -> RunRecord:
    """Make the record of a stored run.

    Args:
        store: database of the run.
        folder: folder of the run.
        best: number of best individuals in the record.
        subject: subject of the run; None if it can no longer be read.
    """
    generations = store.generations()
    members = store.best(best) or store.best(best, Verdict.UNCERTAIN)
    baseline = stored_baseline(store)
    return RunRecord(
        gi_cuda.__version__,
        str(folder),
        store.get("target"),
        store.get("backend"),
        store.get("device"),
        store.get("versions", {}),
        store.get("commit", ""),
        backend_named(store.get("backend")).gpu,
        store.get("level", "source"),
        store.get("edits", "paper"),
        stored_plan(store),
        store.load("started", Started),
        store.get("target_hash"),
        store.get("grammar_hash"),
        baseline.seconds,
        baseline.floor,
        _near_limit(store, baseline),
        stored_untested(store),
        tuple(generation_records(store, generations)),
        sum((one.phases for one in generations), Phases()),
        tuple(individual_record(*one) for one in members),
        _winner(store, subject),
        store.load("acceptance", Acceptance),
        stored_rest(store, subject),
        commands(store, store.get("target"), folder, str),
    )


def _near_limit(store: Store, baseline: Baseline) -> dict[str, NearLimit]:
    """Return the memory throughput of the reference and the winner, by name."""
    bandwidth, seconds = store.get("bandwidth", None), {"reference": baseline.seconds}
    won = stored_winner(store)
    one = None if won is None else store.individual(won.ident)
    if one is not None:
        found = store.evaluations(one.generation).get(one.ident)
        if found is not None and found.ratio is not None:
            seconds[f"individual {one.ident}"] = found.ratio * baseline.seconds
    limits = {name: near_limit(baseline.moved, took, bandwidth) for name, took in seconds.items()}
    return {name: limit for name, limit in limits.items() if limit is not None}


def readable_subject(store: Store, folder: Path) -> tuple[Subject | None, str]:
    """Load the subject of a run; return None and the reason if it is gone or has changed."""
    try:
        return stored_subject(store, folder), ""
    except UserError as error:
        said = f"{error.where}: {error.what}" if error.where else error.what
        return None, "\n  ".join(filter(None, [said, error.hint]))


def individual_record(one: Individual, evaluation: Evaluation | None) -> IndividualRecord:
    """Make the record of an individual."""
    ratio, low, high = (
        (evaluation.ratio, evaluation.low, evaluation.high) if evaluation else (None, None, None)
    )
    return IndividualRecord(
        one.ident,
        one.generation,
        one.origin,
        one.parents,
        one.genotype,
        evaluation.outcome if evaluation else None,
        _inverse(ratio),
        _inverse(high),
        _inverse(low),
        evaluation.message if evaluation else "",
        evaluation.resources if evaluation else {},
    )


def _inverse(ratio: float | None) -> float | None:
    return 1 / ratio if ratio and math.isfinite(ratio) else None


def individual_records(store: Store, generation: int | None = None) -> Iterator[IndividualRecord]:
    """Yield the individuals of one generation, or of all if it is None, in order."""
    evaluations = store.evaluations(generation)
    for one in store.individuals(generation):
        yield individual_record(one, evaluations.get(one.ident))


def measurement_records(store: Store) -> Iterator[MeasurementRecord]:
    """Yield all pairs of timed runs, in the order of their individuals."""
    for ident, evaluation in sorted(store.evaluations().items()):
        for sample in evaluation.samples:
            yield MeasurementRecord(ident, sample.case, sample.variant, sample.reference)


def generation_records(store: Store, generations: list[Generation]) -> Iterator[GenerationRecord]:
    """Yield a run's generations, in order."""
    for one, reached in zip(generations, milestones(store), strict=True):
        yield GenerationRecord(
            one.number,
            one.finished,
            one.tally.created,
            one.tally.genotype_duplicates,
            one.tally.phenotype_duplicates,
            dict(one.outcomes),
            _inverse(store.best_ratio(one.number)),
            reached.evaluations,
            reached.seconds,
            reached.speed_up,
            one.phases,
        )


def _winner(store: Store, subject: Subject | None) -> WinnerRecord | None:
    found = stored_winner(store)
    if found is None:
        return None
    minimized = stored_minimized(store, found.ident)
    if minimized is None:
        return winner_record(found, subject)
    genotype = minimized.minimization.genotype
    before = replace(found, validation=minimized.before or found.validation)
    told = _told(subject, genotype)
    return WinnerRecord(found.ident, True, genotype, minimized.validation, before, *told)


def winner_record(found: Winner, subject: Subject | None) -> WinnerRecord:
    """Make the record of a winner as the search found it.

    Args:
        found: the winner.
        subject: subject of the run; None if it can no longer be read.
    """
    told = _told(subject, found.genotype)
    return WinnerRecord(found.ident, False, found.genotype, found.validation, None, *told)


def _told(subject: Subject | None, genotype: str) -> tuple[Mapping[str, str], str | None]:
    """Return the changes of a genotype in words and as a diff."""
    if subject is None:
        return {}, None
    read = subject.read(genotype)
    return sentences(subject, read), subject.diff(read)


def commands(
    store: Store, target: Path | str, folder: Path, place: Callable[[Path | str], str]
) -> tuple[str, ...]:
    """Return the commands that repeat a stored search and verify its winner.

    Without a winner, the second command continues the search.

    Args:
        store: database of the run.
        target: folder of the target.
        folder: folder of the run.
        place: converts a path to the text in the command, for example a relative path.
    """
    plan, called = stored_plan(store), place(folder)
    words = ["gi-cuda", "evolve", place(target), "--run", called, "--preset", plan.preset]
    words += ["--population", str(plan.settings.population)]
    words += ["--generations", str(plan.settings.generations), "--seed", str(plan.seed)]
    words += ["--backend", store.get("backend"), "--edits", store.get("edits", "paper")]
    if (level := store.get("level", "source")) != "source":
        words += ["--level", level]
    if (seconds := store.get("time")) is not None:
        words += ["--time", f"{seconds:g}"]
    if plan.devices != ALL:
        words += ["--devices", ",".join(map(str, plan.devices))]
    for option, file in zip(("--bnf", "--scope"), store.get("grammar_files"), strict=False):
        words += [option, place(file)]
    for idea in stored_ideas(store):
        words += ["--ideas", place(idea.path)] if idea.path else []
    if plan.untested:
        words.append("--untested")
    if plan.objective is not Objective.EACH:
        words += ["--objective", plan.objective, *what_it_takes(plan)]
    if (start := stored_start(store)) is not None and start.run:
        words += ["--from", place(start.run)]
    if stored_winner(store) is None:
        return shlex.join(words), how_to_go_on(store, folder)
    run = shlex.quote(called)
    return shlex.join(words), f"gi-cuda minimize {run}", f"gi-cuda validate {run}"
