"""Choice of the cheapest kind of rehearsal, by trying each kind on the reference."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf
from pathlib import Path
from typing import NamedTuple, TypeVar

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import at_once, both
from gi_cuda.backends.protocol.programs import Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import Binary, Compiler, Phenotype
from gi_cuda.evaluate.batches.passes import Equipment, Trial
from gi_cuda.evaluate.batches.rehearsal import Balance, Rehearsal
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.subject import Subject

SLACK = 3.0
"""Multiple of the reference's time after which a rehearsal counts as hung."""

TOGETHER = 8
"""Usual number of variants in a schema, which compiles in the time of one variant."""

GROWN = 3.0
"""Assumed growth of a schema's compile time during a search, once variants have tens of edits.
After eight minutes it was a factor of four for one target, and of twelve for another."""

FIRST_WAY = 10**8
"""Number of the reference in the first kind of rehearsal; no individual has it."""

DETOUR = 2.0
"""Factor by which a variant may run longer in a schema than by itself."""

LEAST_LIMIT = 0.005
"""Lower bound of the time limit of a rehearsal, in seconds."""

FIRST_LIMIT = 10.0
"""Time limit of the reference's rehearsal, in seconds, before its time is known."""

CLEARLY = 1.5
"""Factor by which a later kind must be faster to be chosen. Compile times vary by a fifth, and
earlier kinds become better as variants grow during a search."""

Way = TypeVar("Way")

_RUNS = 2
_DOUBTS = ("beside", "parted", "unnamed", "alone")
_OVERLOOKED = tuple(
    frozenset(some) for n in range(1, len(_DOUBTS) + 1) for some in combinations(_DOUBTS, n)
)
"""Sets of signs of harm that may be ignored, small ones first. Some references leave signs although
they work, because they rely on behaviour that CUDA does not guarantee."""


def rehearsal_of(
    subject: Subject, equipment: Equipment, reference: Trial, sampling: Sampling
) -> Rehearsal | None:
    """Return the best kind of rehearsal for variants of a reference.

    None if the back end has no compiler of confined code, or if the reference itself is not right
    as confined code. The first kind is taken, unless another one is clearly faster. Its time is the
    sum of the compile time, over all compiler processes, and the run time on the device: both
    overlap, but a variant waits for both. The compile time is that of variants with many edits.

    Args:
        subject: the subject of the reference.
        equipment: compilers and workers for the trial.
        reference: the reference, ready to be compiled.
        sampling: settings of measurements of unconfined code.
    """
    compilers, uncached = equipment.compiler.rehearsing(), equipment.uncached.rehearsing()
    again = anew(subject, equipment.compiler, reference)
    build = [partial(_made, *way, equipment) for way in zip(uncached, again, strict=True)]
    made, _ = both(partial(_all_made, build), equipment.pool.restock)
    ways = [
        (compiler, built, _Pair.of(trial, built, equipment))
        for compiler, trial, built in zip(compilers, again, made, strict=True)
        if built is not None
    ]
    ran = _ran_all([pair for *_, pair in ways], equipment, sampling.siblings)
    tried = [
        _weighed(compiler, built, there, subject, equipment, sampling)
        for (compiler, built, _), there in zip(ways, ran, strict=True)
        if there is not None
    ]
    return preferred(tried)


def preferred(tried: Sequence[tuple[float, Way]]) -> Way | None:
    """Return the first item, or a later one that is clearly faster; None if there is none.

    Args:
        tried: items, each with its seconds.
    """
    best: tuple[float, Way] | None = None
    for one in tried:
        if best is None or CLEARLY * one[0] <= best[0]:
            best = one
    return best[1] if best else None


def anew(subject: Subject, compiler: Compiler, reference: Trial) -> list[Trial]:
    """Return the reference once for each kind of rehearsal, with unused numbers."""
    idents = range(FIRST_WAY, FIRST_WAY + len(compiler.rehearsing()))
    found = compiler.preprocess([unmodified(subject).variant(ident) for ident in idents])
    return [replace(reference, phenotype=found[ident]) for ident in idents]


@dataclass(frozen=True, slots=True)
class _Made:
    """The reference, built for a kind of rehearsal.

    Attributes:
        confined: binary of the confined code.
        plain: binary of the unconfined code.
        same: whether both are the same binary.
        compiling, assembling: seconds for compiling the former, and then the latter.
    """

    confined: Binary
    plain: Binary
    same: bool
    compiling: float
    assembling: float


def _all_made(build: Sequence[Callable[[], _Made | None]]) -> list[_Made | None]:
    # Use no more threads than cores, so that compile times are realistic.
    together = max(1, cores() // 2)
    groups = [build[at : at + together] for at in range(0, len(build), together)]
    return [one for group in groups for one in at_once(group)]


def _made(uncached: Compiler, reference: Trial, equipment: Equipment) -> _Made | None:
    """Build the reference for a kind of rehearsal; None if that fails. Threads may do so in
    parallel.
    """
    folder = equipment.folder / f"way{reference.phenotype.ident}"
    begun = time.perf_counter()
    confined = _built(uncached, reference, folder / "confined")
    between = time.perf_counter()
    same = uncached == equipment.uncached
    plain = confined if same else _built(equipment.uncached, reference, folder / "plain")
    if confined is None or plain is None:
        return None
    return _Made(confined, plain, same, between - begun, time.perf_counter() - between)


def _weighed(
    compiler: Compiler,
    made: _Made,
    ran: _Ran,
    subject: Subject,
    equipment: Equipment,
    sampling: Sampling,
) -> tuple[float, Rehearsal]:
    """Return a kind of rehearsal in which the reference ran, with its seconds."""
    compiling, assembling = made.compiling, made.assembling
    times = ran.of(equipment.cases)
    schemata = subject.parsed.unchosen({}) is not None
    # If compilers use the cores that variants run on, times vary.
    least = sampling.limit if compiler.disturbs else LEAST_LIMIT
    slack = SLACK * (DETOUR if schemata else 1)
    limit = max(least, slack * max(times))
    how = replace(sampling.untimed(), limit=limit, overlooked=ran.overlooked)
    others = ran.of(sampling.siblings.cases)
    cases = sampling.siblings.cases if others else ()
    siblings = Siblings(cases, max([least, *(slack * one for one in others)]))
    # The second build reuses the translation to PTX, so the longer time includes it.
    building, again = max(compiling, assembling), min(compiling, assembling)
    share = compiling / compiler.jobs / (TOGETHER if schemata else 1)
    # If both binaries are the same, rehearsing a single variant is useless.
    alone = Balance(equipment.death, inf if made.same else again / compiler.jobs + sum(times))
    saved = building / compiler.jobs - share
    together = Balance(equipment.death, share + sum(times), saved)
    found = Rehearsal(compiler, how, siblings, sum(others), subject, alone, together)
    return GROWN * share + sum(times), found


class _Pair(NamedTuple):
    """The confined and the unconfined reference, ready to run.

    Attributes:
        confined, plain: the two programs.
    """

    confined: Program
    plain: Program

    @classmethod
    def of(cls, reference: Trial, made: _Made, equipment: Equipment) -> _Pair:
        """Return the programs of two binaries."""
        confined, plain = (equipment.program(reference, one) for one in (made.confined, made.plain))
        return cls(confined, plain)

    def request(self, cases: tuple[str, ...], overlooked: frozenset[str]) -> Measure:
        """Return the request that measures the confined program beside the unconfined one."""
        first = Sampling(screen=_RUNS, most=_RUNS, limit=FIRST_LIMIT, overlooked=overlooked)
        confined, plain = (replace(program, cases=cases) for program in self)
        return Measure(confined, plain, first)


@dataclass(frozen=True, slots=True)
class _Ran:
    """The rehearsal of the reference, in which it was right.

    Attributes:
        times: seconds by case.
        overlooked: signs of harm that were ignored.
    """

    times: Mapping[str, float]
    overlooked: frozenset[str]

    def of(self, cases: Iterable[str]) -> list[float]:
        """Return the seconds of the given cases, as far as known."""
        return [self.times[case] for case in cases if case in self.times]


def _ran_all(pairs: Sequence[_Pair], equipment: Equipment, siblings: Siblings) -> list[_Ran | None]:
    """Rehearse the reference in all kinds at once, on the siblings too.

    Return None for a kind in which the reference is not right.
    """
    strict = frozenset[str]()
    asked = (pair.request((*pair.plain.cases, *siblings.cases), strict) for pair in pairs)
    answers = dict(equipment.pool.map(enumerate(asked)))
    return [
        _as_told(answers[at], strict) or _ran(pair, equipment, siblings)
        for at, pair in enumerate(pairs)
    ]


def _ran(pair: _Pair, equipment: Equipment, siblings: Siblings) -> _Ran | None:
    """Rehearse the reference in one kind alone, if necessary without siblings, or with signs
    ignored.
    """

    def run(overlooked: frozenset[str]) -> _Ran | None:
        own = pair.plain.cases
        extents = dict.fromkeys([(*own, *siblings.cases), own])
        answers = (equipment.pool.one(pair.request(cases, overlooked)) for cases in extents)
        return next(filter(None, (_as_told(answer, overlooked) for answer in answers)), None)

    # If it is not right with all signs ignored, it is not right with fewer ignored.
    if (found := run(frozenset())) or not run(frozenset(_DOUBTS)):
        return found
    return next(filter(None, map(run, _OVERLOOKED)), None)


def _as_told(answer: object, overlooked: frozenset[str]) -> _Ran | None:
    """Return the rehearsal from an answer; None if the reference was not right."""
    if isinstance(answer, Measurement) and answer.correct:
        return _Ran(_times(answer.samples), overlooked)
    return None


def _built(compiler: Compiler, reference: Trial, folder: Path) -> Binary | None:
    assert isinstance(reference.phenotype, Phenotype)
    (built,) = compiler.compile([reference.phenotype], folder)
    return built if isinstance(built, Binary) else None


def _times(samples: tuple[Sample, ...]) -> dict[str, float]:
    """Return the smallest time of a variant on each case, in seconds."""
    times: dict[str, list[float]] = defaultdict(list)
    for one in samples:
        times[one.case].append(one.variant)
    return {case: min(found) for case, found in times.items()}
