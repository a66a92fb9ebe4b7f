"""Readings from workers: sources in several builds, each beside a build of the reference."""

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
from gi_cuda.evaluate.baseline import in_silence
from gi_cuda.evaluate.candidates import Candidate, build_candidates, candidate, unmodified
from gi_cuda.genome import Genotype
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.results.speed_up import Reading
from gi_cuda.subject import Subject

BUILDS = 5
"""Builds of one source that are measured.

Where code comes to lie in a binary changes its speed by some percent. A speed-up that belongs to
the source shows wherever it lies."""

PAIRS = 15
"""Pairs of launches in each of them."""

NOT_COMPILED = "does not compile"
"""How what is said of a source begins that cannot be built."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a source is measured.

    Attributes:
        builds: builds of it.
        processes: processes that each of them runs in.
        pairs: pairs of launches in each of these.
    """

    builds: int = BUILDS
    processes: int = 1
    pairs: int = PAIRS


THOROUGH = Repeats(builds=6, processes=2, pairs=9)
"""For what is published. Processes differ by more than the pairs in one of them show, so twelve of
them are what the interval is made of: with so many it takes no assumption on how they scatter."""

Answer: TypeAlias = Measurement | Lost | Refused
Run: TypeAlias = Callable[[Iterable[tuple[int, Measure]]], Iterator[tuple[int, Answer]]]
"""How requests are run: a pool's ``map``, or :func:`in_fresh_processes`."""


def in_fresh_processes(pool: Pool[int], together: int = 1) -> Run:
    """Runs requests one at a time in processes that ran no others.

    Args:
        together: so many one after the other in each, where a process takes long to open the
            device.
    """

    def run(requests: Iterable[tuple[int, Measure]]) -> Iterator[tuple[int, Answer]]:
        for number, (key, request) in enumerate(requests):
            yield key, pool.one(request, Wants.ALIKE if number % together else Wants.FIRST)

    return run


@dataclass(frozen=True, slots=True)
class Replicates:
    """Reads sources on some cases of a target.

    Attributes:
        subject: the target with its grammar and space.
        compiler: the back end's.
        pool: workers of a session that has the cases.
        folder: where binaries may be written.
        cases: names of the cases.
        limit: seconds after which a launch counts as hung.
        repeats: how often each source is measured.
        fresh: whether builds are measured in processes that ran no others.
        beside: what they are timed beside, if that is not the reference.
        schedules: see :class:`~gi_cuda.backends.protocol.requests.Sampling`.
        tell: is told what is done next, and how far measuring is.
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
        """What they are timed beside: the unmodified source in the default configuration."""
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
        """Measure candidates again and again, each build in one more process a round; yield what
        all rounds so far have given, without end.

        Args:
            known: numbers of those that are not measured any more; may grow from round to round.
        """
        self.tell(f"compiling {self.repeats.builds} builds of {len(candidates)} sources")
        if self.fresh:
            self.pool.stock(self.repeats.builds * self.repeats.processes)
        failures: dict[int, str] = {}
        samples: dict[int, list[tuple[Sample, ...]]] = {n: [] for n in range(len(candidates))}
        builds = [self._requests(programs, failures) for programs in self._build(candidates)]
        turn = 0
        for number in count():
            # One build of each before the others: what fails in that one is not run any more.
            parts = (builds[:1], builds[1:]) if number == 0 else (builds,)
            for part in parts:
                some = list[tuple[int, Measure]]()
                for one in part:
                    # Sources take turns in going first, so that none is always measured at a better
                    # moment.
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
        """The same answers; at each tenth of them it is told how far that is."""
        for done, answer in enumerate(answers):
            if done * 10 // total != (done - 1) * 10 // total:
                self.tell(f"measuring: {done} of {total} runs")
            yield answer

    def _requests(
        self, programs: Sequence[Program | BuildFailure], failures: dict[int, str]
    ) -> list[tuple[int, Measure]]:
        """What measures one build of each candidate; those that do not compile are entered among
        the failures."""
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
        """For each round of builds the reference's program and those of the candidates.

        Copies of all sources take turns in the batch, so that none of them has a place of its own.
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
    """Answers to numbered requests. A worker's death is final when it happened twice: the last
    request of that number is run again, in a fresh worker."""
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
    """What is wrong with an answer, in words; "" where nothing is."""
    match answer:
        case Lost(survival, message):
            return f"{survival}: {message}"
        case Refused(message):
            return f"refused: {message}"
    return "" if answer.correct else f"wrong: {answer.message}"


@dataclass(frozen=True, slots=True)
class GenotypeMeasurer:
    """An :class:`~gi_cuda.evaluate.readings.Measurer` of genotypes as a maintainer would get them.

    Without loop guards. Genotypes with one phenotype share one reading.
    """

    replicates: Replicates

    def beside(self, genotype: Genotype) -> GenotypeMeasurer:
        """The same, beside another genotype."""
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
        """For each what is equal where phenotypes and launches are."""
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
