"""Replicated measurements: several builds of each source, each timed beside a build of the
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.schedules import Schedules
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Phenotype
from gi_cuda.backends.workers.pool import Lost, Pool, Wants
from gi_cuda.evaluate.candidates import Candidate, build_candidates, candidate, unmodified
from gi_cuda.evaluate.reference.baseline import in_silence
from gi_cuda.genome import Genotype
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.results.speed_up import Reading
from gi_cuda.subject import Subject

BUILDS = 5
"""Number of builds of each source that are measured.

The position of code in a binary changes its speed by some percent. A speedup that belongs to the
source shows in all positions."""

PAIRS = 15
"""Number of pairs of launches in each build."""

NOT_COMPILED = "does not compile"
"""Beginning of the failure message of a source that does not compile."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """The number of repetitions of a measurement.

    Attributes:
        builds: builds of the source.
        processes: processes that each build runs in.
        pairs: pairs of launches in each process.
    """

    builds: int = BUILDS
    processes: int = 1
    pairs: int = PAIRS


THOROUGH = Repeats(builds=6, processes=2, pairs=9)
"""Repetitions for published results. Processes differ by more than the pairs within a process, so
the interval is computed from twelve processes. Twelve are enough for an interval that assumes no
distribution."""

Answer: TypeAlias = Measurement | Lost | Refused
Run: TypeAlias = Callable[[Iterable[tuple[int, Measure]]], Iterator[tuple[int, Answer]]]
"""A function that runs requests: a pool's ``map``, or the result of :func:`in_fresh_processes`."""


def in_fresh_processes(pool: Pool[int], together: int = 1) -> Run:
    """Return a function that runs requests one at a time in new processes.

    Args:
        together: number of requests that share a process, one after the other, because opening the
            device takes long.
    """

    def run(requests: Iterable[tuple[int, Measure]]) -> Iterator[tuple[int, Answer]]:
        for number, (key, request) in enumerate(requests):
            yield key, pool.one(request, Wants.ALIKE if number % together else Wants.FIRST)

    return run


@dataclass(frozen=True, slots=True)
class Replicates:
    """A measurement of sources on some cases of a target.

    Attributes:
        subject: the target with its grammar and space.
        compiler: compiler of the back end.
        pool: workers of a session that has the cases.
        folder: for binaries.
        cases: names of the cases.
        limit: seconds after which a launch counts as hung.
        repeats: number of repetitions.
        fresh: whether builds are measured in new processes.
        beside: candidate that the sources are timed beside; None for the reference.
        schedules: see :class:`~gi_cuda.backends.protocol.requests.Sampling`.
        tell: receives a message before each step, and on progress.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]
    limit: float
    repeats: Repeats = Repeats()
    fresh: bool = False
    beside: Candidate | None = None
    schedules: Schedules = field(default_factory=dict)
    tell: Callable[[str], None] = in_silence

    def reference(self) -> Candidate:
        """Return the candidate that sources are timed beside, by default the unmodified source."""
        return self.beside or unmodified(self.subject)

    def read(self, candidates: Sequence[Candidate]) -> list[Reading]:
        """Measure candidates beside the reference, all compiled in one batch."""
        if not candidates:
            return []
        *_, last = islice(self.rounds(candidates), self.repeats.processes)
        return last

    def rounds(
        self, candidates: Sequence[Candidate], known: Collection[int] = ()
    ) -> Iterator[list[Reading]]:
        """Measure candidates in rounds without end, each build in one more process per round.

        Yield the readings from all rounds so far after each round.

        Args:
            known: numbers of candidates that need no more measurements; may grow between rounds.
        """
        self.tell(f"compiling {self.repeats.builds} builds of {len(candidates)} sources")
        if self.fresh:
            self.pool.stock(self.repeats.builds * self.repeats.processes)
        failures: dict[int, str] = {}
        samples: dict[int, list[tuple[Sample, ...]]] = {n: [] for n in range(len(candidates))}
        builds = [self._requests(programs, failures) for programs in self._build(candidates)]
        turn = 0
        for number in count():
            # Run the first build of each candidate alone: if it fails, the others are skipped.
            parts = (builds[:1], builds[1:]) if number == 0 else (builds,)
            for part in parts:
                some = list[tuple[int, Measure]]()
                for one in part:
                    # Alternate the order of sources, so that none always runs at a better moment.
                    some += one[::-1] if turn % 2 else one
                    turn += 1
                some = [one for one in some if one[0] not in failures and one[0] not in known]
                run: Run = self.pool.map
                if self.fresh:  # all candidates of a build share a process
                    run = in_fresh_processes(self.pool, len({number for number, _ in some}))
                answers = final_answers(run, self.pool, some)
                for at, answer in self._counted(answers, len(some)):
                    if failure := why_wrong(answer):
                        failures.setdefault(at, failure)
                    else:
                        assert isinstance(answer, Measurement)
                        samples[at].append(answer.samples)
            yield [
                Reading(failure=failures[at]) if at in failures else Reading(tuple(found))
                for at, found in samples.items()
            ]

    def _counted(
        self, answers: Iterator[tuple[int, Answer]], total: int
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the answers, and report progress at each tenth of them."""
        for done, answer in enumerate(answers):
            if done * 10 // total != (done - 1) * 10 // total:
                self.tell(f"measuring: {done} of {total} runs")
            yield answer

    def _requests(
        self, programs: Sequence[Program | BuildFailure], failures: dict[int, str]
    ) -> list[tuple[int, Measure]]:
        """Return the requests that measure one build of each candidate.

        Candidates that do not compile are added to the failures.
        """
        reference, *variants = programs
        assert isinstance(reference, Program)
        pairs = self.repeats.pairs
        sampling = Sampling(screen=pairs, most=pairs, limit=self.limit, schedules=self.schedules)
        requests = []
        for number, variant in enumerate(variants):
            if isinstance(variant, BuildFailure):
                failures[number] = f"{NOT_COMPILED}: {variant.message}"
            else:
                requests.append((number, Measure(variant, reference, sampling)))
        return requests

    def _build(self, candidates: Sequence[Candidate]) -> list[list[Program | BuildFailure]]:
        """Compile all builds, and return the reference's program and the candidates' for each
        build.

        Builds of different sources alternate in the batch, so that no source has fixed positions.
        """
        sources = [self.reference(), *candidates]
        built = build_candidates(self.compiler, sources * self.repeats.builds, self.folder)
        if isinstance(built[0], BuildFailure):
            raise RuntimeError(f"the reference no longer compiles: {built[0].message}")
        stride = len(sources)
        return [
            [
                made if isinstance(made, BuildFailure) else one.program(made, self.cases)
                for one, made in zip(sources, built[turn * stride :], strict=False)
            ]
            for turn in range(self.repeats.builds)
        ]


def final_answers(
    run: Run, pool: Pool[int], requests: Sequence[tuple[int, Measure]]
) -> Iterator[tuple[int, Answer]]:
    """Yield the answers to numbered requests.

    If a worker dies, the last such request of a number is repeated in a new worker; a second death
    is final.
    """
    again = []
    for at, answer in run([(at, one) for at, (_, one) in enumerate(requests)]):
        number, request = requests[at]
        if isinstance(answer, Lost):
            again.append((number, request))
        else:
            yield number, answer
    for number, request in dict(again).items():
        yield number, pool.one(request)


def why_wrong(answer: Answer) -> str:
    """Return the reason why an answer is a failure; "" if it is none."""
    match answer:
        case Lost(survival, message):
            return f"{survival}: {message}"
        case Refused(message):
            return f"refused: {message}"
    return "" if answer.correct else f"wrong: {answer.message}"


@dataclass(frozen=True, slots=True)
class GenotypeMeasurer:
    """A :class:`~gi_cuda.evaluate.readings.Measurer` that renders genotypes as a maintainer would
    get them.

    They have no loop guards. Genotypes with the same phenotype share a reading.
    """

    replicates: Replicates

    def beside(self, genotype: Genotype) -> GenotypeMeasurer:
        """Return a measurer that times beside another genotype."""
        other = candidate(self.replicates.subject, genotype)
        return GenotypeMeasurer(replace(self.replicates, beside=other))

    def __call__(self, genotypes: Sequence[Genotype]) -> list[Reading]:
        """Read genotypes, all compiled in one batch."""
        subject = self.replicates.subject
        forbidden = {g for g in genotypes if not subject.space.allows(g.configuration)}
        allowed = [g for g in genotypes if g not in forbidden]
        keys = dict(zip(allowed, self._phenotypes(allowed), strict=True))
        first = {key: genotype for genotype, key in reversed(keys.items())}
        readings = self.replicates.read([candidate(subject, one) for one in first.values()])
        by_key = dict(zip(first, readings, strict=True))
        return [
            Reading(failure="breaks a constraint") if one in forbidden else by_key[keys[one]]
            for one in genotypes
        ]

    def _phenotypes(self, genotypes: Sequence[Genotype]) -> list[object]:
        """Return a key for each genotype; keys are equal if phenotypes and launches are."""
        subject = self.replicates.subject
        sources = [candidate(subject, genotype) for genotype in genotypes]
        variants = [one.variant(ident) for ident, one in enumerate(sources)]
        read = self.replicates.compiler.preprocess(variants)
        return [
            (phenotype.key, subject.launch_values(subject.configured(genotype)))
            if isinstance(phenotype := read[ident], Phenotype)
            else ident
            for ident, genotype in enumerate(genotypes)
        ]
