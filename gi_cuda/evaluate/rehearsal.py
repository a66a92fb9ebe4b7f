"""First runs of variants, in schemata and in code that does no harm, and what the reference does in
such code."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf
from pathlib import Path

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.programs import Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import Binary, Compiler, Phenotype
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.passes import Equipment, Trial
from gi_cuda.evaluate.schemata import Group, grouped
from gi_cuda.results.evaluation import Evaluation
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

MEMORY = 2048
"""Variants after which the earlier ones count half."""

_RUNS = 2
_DOUBTS = ("beside", "parted", "unnamed", "alone")
_OVERLOOKED = tuple(
    frozenset(some) for n in range(1, len(_DOUBTS) + 1) for some in combinations(_DOUBTS, n)
)
"""Signs of harm that may not count, the fewest first: there is code that works, and that CUDA does
not promise to."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What a rehearsal takes and gives, in seconds.

    Attributes:
        death: that it saves for what would do harm.
        extra: that it costs for what is right.
        saved: that it saves for what is wrong.
    """

    death: float
    extra: float
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How variants run before they may run as they are.

    Attributes:
        compiler: of those that a compiler has for what runs first.
        sampling: how its code is run.
        siblings: where what looks faster afterwards may rehearse as well; nowhere, if the reference
            is not right there.
        elsewhere: seconds that the reference takes for that.
        subject: whose variants they are.
        alone: what that costs and saves for a variant by itself.
        together: the same for one that is in a schema.
    """

    compiler: Compiler
    sampling: Sampling
    siblings: Siblings
    elsewhere: float
    subject: Subject
    alone: Balance
    together: Balance


@dataclass(frozen=True, slots=True)
class FirstRun:
    """Which trials of a batch rehearse, and how.

    Attributes:
        how: all do.
        groups: those that do so in one text.
    """

    how: Rehearsal
    groups: tuple[Group, ...]

    @property
    def actors(self) -> frozenset[int]:
        """The numbers of all of them."""
        return frozenset(member for group in self.groups for member in group)


def of_all(how: Rehearsal, trials: Mapping[int, Trial], beside: int = 0) -> FirstRun:
    """All of some trials rehearse.

    Args:
        beside: other trials that there are at the same time.
    """
    return FirstRun(how, tuple(grouped(how.subject, trials, how.compiler, beside)))


@dataclass(slots=True)
class Tally:
    """What became of variants of one sort.

    Attributes:
        right, wrong: how many were; those that did not compile are neither.
        harmful: how many of those that were wrong crashed or hung.
    """

    right: int = 0
    wrong: int = 0
    harmful: int = 0

    def enter(self, evaluation: Evaluation) -> None:
        """One more."""
        self.right += evaluation.right
        self.wrong += evaluation.built and not evaluation.right
        self.harmful += evaluation.harmful
        if self.right + self.wrong >= MEMORY:
            self.right //= 2
            self.wrong //= 2
            self.harmful //= 2

    def favours(self, balance: Balance) -> bool:
        """Whether rehearsals of such variants save more than they cost, as if there had been one
        more that was right and one more that did harm."""
        saved = (self.harmful + 1) * balance.death + (self.wrong + 1) * balance.saved
        return (self.right + 1) * balance.extra <= saved


class Rehearsals:
    """Which variants rehearse: those for whose like that saves more than it costs.

    What it saves is the deaths of those that would crash or hang and, in schemata, to compile those
    that are wrong; what it costs is to build and run twice what is right. Variants whose code is
    the reference's, in another configuration, are seldom wrong; so they are judged by themselves.
    """

    def __init__(self) -> None:
        self._tallies = {True: Tally(), False: Tally()}

    def enter(self, trial: Trial, evaluation: Evaluation) -> None:
        """What became of a variant, rehearsed or not."""
        self._tallies[bool(trial.edits)].enter(evaluation)

    def first_run(
        self, how: Rehearsal, trials: Mapping[int, Trial], beside: int
    ) -> FirstRun | None:
        """Those of some trials that are to rehearse, if there are any.

        Args:
            beside: other trials that there are at the same time.
        """
        found = []
        for group in of_all(how, trials, beside).groups:
            edited = any(trials[member].edits for member in group)
            balance = how.together if len(group) > 1 else how.alone
            if self._tallies[edited].favours(balance):
                found.append(group)
        return FirstRun(how, tuple(found)) if found else None


def rehearsal_of(
    subject: Subject, equipment: Equipment, reference: Trial, sampling: Sampling
) -> Rehearsal | None:
    """How variants of a reference rehearse best; None where the back end has no compiler for that,
    or where the reference itself is not right in its code: then it tells nothing of variants.

    Of several ways it is that in which whoever takes longer, all processors that compile or the
    device that runs, takes least for the reference: they work beside each other. It counts what a
    compiler takes for variants with many edits.

    Args:
        subject: whose reference it is.
        equipment: to try them with.
        reference: as it is compiled.
        sampling: how variants are measured when they are not confined.
    """
    compilers, uncached = equipment.compiler.rehearsing(), equipment.uncached.rehearsing()
    again = anew(subject, equipment.compiler, reference)
    build = [partial(_made, *way, equipment) for way in zip(uncached, again, strict=True)]
    # With a processor for each they take what each would by itself.
    together = max(1, cores() // 2)
    groups = [build[at : at + together] for at in range(0, len(build), together)]
    made = [one for group in groups for one in at_once(group)]
    tried = [
        _tried(compiler, trial, built, subject, equipment, sampling)
        for compiler, trial, built in zip(compilers, again, made, strict=True)
        if built is not None
    ]
    return min(filter(None, tried), key=lambda one: one[0], default=(0.0, None))[1]


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


def _tried(
    compiler: Compiler,
    reference: Trial,
    made: _Made,
    subject: Subject,
    equipment: Equipment,
    sampling: Sampling,
) -> tuple[float, Rehearsal] | None:
    """A way to rehearse and its seconds; None where the reference is not right in it."""
    compiling, assembling = made.compiling, made.assembling
    programs = equipment.program(reference, made.confined), equipment.program(reference, made.plain)
    ran = _ran(*programs, equipment, sampling.siblings)
    if ran is None:
        return None
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
    return max(GROWN * share, sum(times)), found


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


def _ran(
    confined: Program, plain: Program, equipment: Equipment, siblings: Siblings
) -> _Ran | None:
    """Run the reference as a rehearsal would, on the siblings too, if it is right there; None where
    it is not right at all."""

    def run(overlooked: frozenset[str]) -> _Ran | None:
        first = Sampling(screen=_RUNS, most=_RUNS, limit=FIRST_LIMIT, overlooked=overlooked)
        for cases in dict.fromkeys([(*confined.cases, *siblings.cases), confined.cases]):
            one, other = (replace(program, cases=cases) for program in (confined, plain))
            answer = equipment.pool.one(Measure(one, other, first))
            if isinstance(answer, Measurement) and answer.correct:
                return _Ran(_times(answer.samples), overlooked)
        return None

    # What is not right though all of them are overlooked is not so with fewer.
    if (found := run(frozenset())) or not run(frozenset(_DOUBTS)):
        return found
    return next(filter(None, map(run, _OVERLOOKED)), None)


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
