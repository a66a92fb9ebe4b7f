"""Which way to rehearse takes least for the reference, and what the reference does in such code."""

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
"""A rehearsal over this multiple of the reference's own is over."""

TOGETHER = 8
"""Variants that a schema has as a rule, which is compiled in the time of one."""

GROWN = 3.0
"""Times as long as the first ones of a search that schemata take to compile once variants have some
tens of edits: four times for one target, after eight minutes, and twelve times for another one."""

FIRST_WAY = 10**8
"""The number of the reference in the first way to rehearse that is tried; no individual has it."""

DETOUR = 2.0
"""Times as long as by itself that a variant may run in a schema."""

LEAST_LIMIT = 0.005
"""Seconds a rehearsal may always take."""

FIRST_LIMIT = 10.0
"""Seconds that the reference's may take, before its time is known."""

CLEARLY = 1.5
"""Times as long as in a later way that it must take in an earlier one before that is not chosen. A
single compilation takes a fifth more or less by chance, and while a search makes longer variants
the earlier ones gain: see the compilers' ways."""

Way = TypeVar("Way")

_RUNS = 2
_DOUBTS = ("beside", "parted", "unnamed", "alone")
_OVERLOOKED = tuple(
    frozenset(some) for n in range(1, len(_DOUBTS) + 1) for some in combinations(_DOUBTS, n)
)
"""Signs of harm that may not count, the fewest first: there is code that works, and that CUDA does
not promise to."""


def rehearsal_of(
    subject: Subject, equipment: Equipment, reference: Trial, sampling: Sampling
) -> Rehearsal | None:
    """How variants of a reference rehearse best; None where the back end has no compiler for that,
    or where the reference itself is not right in its code: then it tells nothing of variants.

    Of several ways it is the first one, unless all processors that compile and the device that runs
    take clearly less in another one for the reference, one after the other: they work beside each
    other, but a variant waits for both. It counts what compilers take for variants with many edits.

    Args:
        subject: whose reference it is.
        equipment: to try them with.
        reference: as it is compiled.
        sampling: how variants are measured when they are not confined.
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
    """The first of some ways, or a later one that takes clearly less; None where there is none.

    Args:
        tried: each with its seconds.
    """
    best: tuple[float, Way] | None = None
    for one in tried:
        if best is None or CLEARLY * one[0] <= best[0]:
            best = one
    return best[1] if best else None


def anew(subject: Subject, compiler: Compiler, reference: Trial) -> list[Trial]:
    """The reference once for each way to rehearse that a compiler has, under numbers of which
    nothing is known yet."""
    idents = range(FIRST_WAY, FIRST_WAY + len(compiler.rehearsing()))
    found = compiler.preprocess([unmodified(subject).variant(ident) for ident in idents])
    return [replace(reference, phenotype=found[ident]) for ident in idents]


@dataclass(frozen=True, slots=True)
class _Made:
    """The reference, built in a way to rehearse.

    Attributes:
        confined: in that.
        plain: as it is.
        same: whether the two are the same.
        compiling, assembling: seconds that a compiler took for the one, and then for the other.
    """

    confined: Binary
    plain: Binary
    same: bool
    compiling: float
    assembling: float


def _all_made(build: Sequence[Callable[[], _Made | None]]) -> list[_Made | None]:
    # With a processor for each they take what each would by itself.
    together = max(1, cores() // 2)
    groups = [build[at : at + together] for at in range(0, len(build), together)]
    return [one for group in groups for one in at_once(group)]


def _made(uncached: Compiler, reference: Trial, equipment: Equipment) -> _Made | None:
    """Build it; None where that cannot be done. Several may be built at once."""
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
    """A way to rehearse, in which the reference ran, and its seconds."""
    compiling, assembling = made.compiling, made.assembling
    times = ran.of(equipment.cases)
    schemata = subject.parsed.unchosen({}) is not None
    # Where compilers take the processor that variants run on, its time varies.
    least = sampling.limit if compiler.disturbs else LEAST_LIMIT
    slack = SLACK * (DETOUR if schemata else 1)
    limit = max(least, slack * max(times))
    how = replace(sampling.untimed(), limit=limit, overlooked=ran.overlooked)
    others = ran.of(sampling.siblings.cases)
    cases = sampling.siblings.cases if others else ()
    siblings = Siblings(cases, max([least, *(slack * one for one in others)]))
    # What is assembled of the same PTX is translated once.
    building, again = max(compiling, assembling), min(compiling, assembling)
    share = compiling / compiler.jobs / (TOGETHER if schemata else 1)
    # By itself it would be the same thing twice where the code is the same.
    alone = Balance(equipment.death, inf if made.same else again / compiler.jobs + sum(times))
    saved = building / compiler.jobs - share
    together = Balance(equipment.death, share + sum(times), saved)
    found = Rehearsal(compiler, how, siblings, sum(others), subject, alone, together)
    return GROWN * share + sum(times), found


class _Pair(NamedTuple):
    """The reference as it is built to rehearse, and as it is.

    Attributes:
        confined, plain: the one and the other.
    """

    confined: Program
    plain: Program

    @classmethod
    def of(cls, reference: Trial, made: _Made, equipment: Equipment) -> _Pair:
        """What runs the two that were built."""
        confined, plain = (equipment.program(reference, one) for one in (made.confined, made.plain))
        return cls(confined, plain)

    def request(self, cases: tuple[str, ...], overlooked: frozenset[str]) -> Measure:
        """What runs the one beside the other."""
        first = Sampling(screen=_RUNS, most=_RUNS, limit=FIRST_LIMIT, overlooked=overlooked)
        confined, plain = (replace(program, cases=cases) for program in self)
        return Measure(confined, plain, first)


@dataclass(frozen=True, slots=True)
class _Ran:
    """How the reference ran in its rehearsal, where it was right.

    Attributes:
        times: seconds on each case that it ran on.
        overlooked: signs of harm that it leaves all the same.
    """

    times: Mapping[str, float]
    overlooked: frozenset[str]

    def of(self, cases: Iterable[str]) -> list[float]:
        """The seconds on some cases, as far as it ran on them."""
        return [self.times[case] for case in cases if case in self.times]


def _ran_all(pairs: Sequence[_Pair], equipment: Equipment, siblings: Siblings) -> list[_Ran | None]:
    """Run the reference as each rehearsal would, on the siblings too, if it is right there; None
    where it is not right at all. All are run at once, since each waits for a worker first."""
    strict = frozenset[str]()
    asked = (pair.request((*pair.plain.cases, *siblings.cases), strict) for pair in pairs)
    answers = dict(equipment.pool.map(enumerate(asked)))
    return [
        _as_told(answers[at], strict) or _ran(pair, equipment, siblings)
        for at, pair in enumerate(pairs)
    ]


def _ran(pair: _Pair, equipment: Equipment, siblings: Siblings) -> _Ran | None:
    """The same of one, with nobody beside it."""

    def run(overlooked: frozenset[str]) -> _Ran | None:
        own = pair.plain.cases
        extents = dict.fromkeys([(*own, *siblings.cases), own])
        answers = (equipment.pool.one(pair.request(cases, overlooked)) for cases in extents)
        return next(filter(None, (_as_told(answer, overlooked) for answer in answers)), None)

    # What is not right though all of them are overlooked is not so with fewer.
    if (found := run(frozenset())) or not run(frozenset(_DOUBTS)):
        return found
    return next(filter(None, map(run, _OVERLOOKED)), None)


def _as_told(answer: object, overlooked: frozenset[str]) -> _Ran | None:
    """How it ran; None where it was not right."""
    if isinstance(answer, Measurement) and answer.correct:
        return _Ran(_times(answer.samples), overlooked)
    return None


def _built(compiler: Compiler, reference: Trial, folder: Path) -> Binary | None:
    assert isinstance(reference.phenotype, Phenotype)
    (built,) = compiler.compile([reference.phenotype], folder)
    return built if isinstance(built, Binary) else None


def _times(samples: tuple[Sample, ...]) -> dict[str, float]:
    """Seconds of a variant on each case, where nothing disturbed it."""
    times: dict[str, list[float]] = defaultdict(list)
    for one in samples:
        times[one.case].append(one.variant)
    return {case: min(found) for case, found in times.items()}
