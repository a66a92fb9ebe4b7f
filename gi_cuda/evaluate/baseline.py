"""The baseline before any search: what the unmodified kernel does, and how well it can be timed.

Proves that the reference passes its own oracle, that a copy of it measures as the same, and that a
variant broken on purpose is caught; finds the noise floor and the loops' iteration counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    CountLoops,
    LoopCounts,
    Measure,
    Record,
    Recorded,
    Refused,
)
from gi_cuda.backends.protocol.schedules import Schedules
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import (
    Candidate,
    as_candidate,
    build_candidates,
    candidate,
    unmodified,
)
from gi_cuda.evaluate.checks.arguments import read_signatures, wrong_arguments
from gi_cuda.evaluate.checks.buffers import never_written, nowhere_defined, written_inputs
from gi_cuda.evaluate.checks.defaults import check_defaults
from gi_cuda.evaluate.checks.finding import refuse
from gi_cuda.evaluate.complaints import does_not_compile
from gi_cuda.evaluate.copies import COPIES, FIRST_LIMIT, floor_of, time_copies, verdict_of
from gi_cuda.evaluate.faults import fault, place_of_oracle
from gi_cuda.evaluate.scrutiny.orders import races_of_rejected, standing, to_record
from gi_cuda.genome import Delete
from gi_cuda.grammar import LATE, RuleType
from gi_cuda.results.verdict import Verdict
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject

SLACK = 20.0
"""A launch over this multiple of the reference's time counts as hung on any case: held-out ones may
be larger than those that the time is of."""

LEAST_LIMIT = 0.05
"""Seconds a launch may always take."""

FEWEST_ITERATIONS = 16
"""A guarded loop may always make so many iterations."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is known of the reference.

    Attributes:
        seconds: its median time over all timed train cases; of several devices, on the slowest.
        floor: the noise floor, as a fraction: how far from 1 the ratio of a copy to it may seem
            to be, by the 95 % intervals of several copies.
        copies: median ratio of each copy to it.
        loops: most iterations that a guarded loop may make, by loop number.
        limit: seconds after which a launch counts as hung.
        penalties: the oracle's penalty of the reference for each case; all 0.
        verdict: what a copy that had no part in finding the floor measured as.
        schedules: orders of blocks and threads in which its answers are right too.
        ordered: whether the device takes them in the order that it is told; else it chooses.
        unwritten: for each case and output how many of its elements no launch of the reference
            writes, and how many it has.
        undefined: for each case the judged buffers in which it writes nothing but NaN.
        changed: for each case and judged buffer that the case gives how many of its elements become
            others, and how many it has.
        on_each: those seconds on each device, in order; of one alone, none.
        recorded: orders of blocks and threads in which its answers were recorded, besides the
            natural one, to see how much they differ.
        siblings: cases besides those of the target on which its answers are recorded, for what is
            faster in a search.
        moved: bytes of the inputs of all timed train cases, and of what is written to outputs.
    """

    seconds: float
    floor: float
    copies: tuple[float, ...]
    loops: Mapping[int, int]
    limit: float
    penalties: Mapping[str, float]
    verdict: Verdict
    schedules: Schedules = field(default_factory=dict)
    unwritten: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    undefined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    on_each: tuple[float, ...] = ()
    recorded: Schedules = field(default_factory=dict)
    siblings: tuple[str, ...] = ()
    ordered: bool = False
    moved: int = 0

    def search_limit(self, slack: float) -> float:
        """Seconds after which a launch on a train case counts as hung in a search, where so many
        times the reference's time are of no use."""
        return max(LEAST_LIMIT, slack * self.seconds)


@dataclass(frozen=True, slots=True)
class Caught:
    """What became of a variant broken on purpose."""

    survival: str
    penalty: float | None
    message: str


def broken(subject: Subject, limits: Mapping[int, int]) -> Candidate:
    """A variant that cannot be right: every statement of every evolved function deleted. Its loops
    are left at their limits, so that it ends and the oracle sees it."""
    statements = [r.name for r in subject.grammar.rules if r.type is RuleType.STATEMENT]
    edits = tuple(Delete(name) for name in statements)
    one = candidate(subject, replace(subject.original, edits=edits), limits)
    return replace(one, macros={**one.macros, LATE: "bool"})


def check_against_source(subject: Subject, compiler: Compiler) -> None:
    """Refuse a target that says other than its source.

    Raises:
        UserError: the defaults are not what the source has, or a launch passes what the kernel does
            not take.
    """
    code = subject.source
    check_defaults(code, compiler)
    refuse(wrong_arguments(subject.target, read_signatures(code, compiler)))


def compile_reference(
    subject: Subject, compiler: Compiler, texts: Sequence[str], folder: Path
) -> list[Binary]:
    """Compile texts under the reference's configuration; they must compile.

    Raises:
        UserError: with the compiler's message, at the source's own line.
    """
    sources = [as_candidate(subject, text, subject.standard) for text in texts]
    return _compiled(subject, compiler, sources, folder)


def _compiled(
    subject: Subject, compiler: Compiler, sources: Sequence[Candidate], folder: Path
) -> list[Binary]:
    binaries = []
    for one in build_candidates(compiler, sources, folder):
        if isinstance(one, BuildFailure):
            raise does_not_compile(subject, one.message)
        binaries.append(one)
    return binaries


def in_silence(step: str) -> None:
    """For those who need not know how far it is."""


def establish(
    subject: Subject,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    reference: Path,
    tell: Callable[[str], None] = in_silence,
    *,
    copies: int = COPIES,
) -> Baseline:
    """Find out all that a search must know about the reference, and store its outputs.

    Args:
        folder: for binaries.
        reference: where the reference's outputs go, for all cases of the pool's session.
        tell: is told what is done next.
        copies: of the reference that are timed to find the noise floor; fewer take less time.

    Raises:
        UserError: the defaults are not what the source has, the source does not compile, the
            reference crashes, its oracle rejects it, or it does not write what it should, or what
            it should not.
    """
    tell("comparing target.toml with the source")
    check_against_source(subject, compiler)
    tell("compiling the reference and copies of it")
    source = unmodified(subject)
    base, *others = _compiled(subject, compiler, [source] * (copies + 2), folder)
    train = subject.cases(CaseRole.TRAIN)
    whole = source.program(base, (*train, *subject.cases(CaseRole.HELD_OUT)))
    tell("running the reference on all cases")
    recorded = record_reference(subject, pool, whole, reference)
    orders: Schedules = {}
    if subject.target.oracle.runs > 1:
        tell("running the reference in many orders of threads")
        if orders := to_record(subject, pool, whole, reference):
            recorded = record_reference(subject, pool, whole, reference, orders)
    tell("timing copies of the reference")
    copied = [source.program(copy, train) for copy in others]
    timed = time_copies(subject, pool, copied, source.program(base, train))
    floor = floor_of(subject, timed)
    on_each = tuple(one.seconds for one in timed)
    seconds = max(on_each)
    limit = max(LEAST_LIMIT, SLACK * seconds)
    tell("running the reference in other orders of threads")
    schedules = standing(pool, whole, limit, subject.target.kernels)
    tell("counting the iterations of loops")
    return Baseline(
        seconds=seconds,
        floor=floor,
        copies=tuple(ratio for one in timed for ratio in one.medians),
        loops=_count_loops(subject, compiler, pool, folder / "counted"),
        limit=limit,
        penalties=recorded.penalties,
        verdict=verdict_of(timed, floor),
        schedules=schedules or {},
        ordered=schedules is not None,
        unwritten=recorded.unwritten,
        undefined=recorded.undefined,
        changed=recorded.changed,
        on_each=on_each if len(on_each) > 1 else (),
        recorded=orders,
        moved=sum(recorded.moved.get(case, 0) for case in subject.timed_cases),
    )


def as_measured_here(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path, baseline: Baseline
) -> Baseline:
    """A baseline that was established on another machine, with this one's times and noise.

    Args:
        folder: for binaries.
        baseline: its noise floor is the least that this machine's may be.

    Raises:
        UserError: the reference does not compile here, its answers are not those that were
            recorded there, or nothing can be timed.
    """
    source, train = unmodified(subject), subject.cases(CaseRole.TRAIN)
    base, *copies = _compiled(subject, compiler, [source] * (COPIES + 2), folder)
    programs = [source.program(one, train) for one in (base, *copies)]
    timed = time_copies(subject, pool, programs[1:], programs[0])
    on_each = tuple(one.seconds for one in timed)
    seconds = max(on_each)
    return replace(
        baseline,
        seconds=seconds,
        floor=max(baseline.floor, floor_of(subject, timed)),
        limit=max(LEAST_LIMIT, SLACK * seconds),
        on_each=on_each if len(on_each) > 1 else (),
    )


def try_broken(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path, baseline: Baseline
) -> Caught:
    """Run the variant broken on purpose; it must be caught, which proves that variants count.

    Raises:
        UserError: the oracle accepts it.
    """
    sources = [unmodified(subject), broken(subject, baseline.loops)]
    binaries = _compiled(subject, compiler, sources, folder)
    train = subject.cases(CaseRole.TRAIN)
    base, variant = (
        one.program(binary, train) for one, binary in zip(sources, binaries, strict=True)
    )
    answer = pool.one(Measure(variant, base, Sampling(limit=baseline.limit)))
    if isinstance(answer, Lost):
        return Caught(answer.survival, None, answer.message)
    if isinstance(answer, Refused):
        return Caught("refused", None, answer.message)
    if answer.correct:
        changed = [
            name for case in train for name, (n, _) in baseline.changed.get(case, {}).items() if n
        ]
        small = (
            f"what the kernel changes in {', '.join(dict.fromkeys(changed))} is less than the"
            " tolerance: give [oracle] smaller `absolute` and `relative`, or the buffers smaller"
            " numbers in data.py"
        )
        raise UserError(
            "a variant with every statement deleted passes the oracle",
            where=place_of_oracle(subject.target),
            hint=small
            if changed
            else "the oracle must look at what the kernel writes: check [oracle], the roles of the"
            " buffers, and whether the kernel changes anything in them with the data of data.py",
        )
    return Caught(answer.survival, answer.penalty, answer.message)


_RACES = "mend the source, with a barrier, a fence or an atomic function; else, "
_SHOWN = 2
"""Races of a reference that are told of."""


def record_reference(
    subject: Subject,
    pool: Pool[int],
    program: Program,
    folder: Path,
    schedules: Schedules = MappingProxyType({}),
) -> Recorded:
    """Run the reference and store its outputs.

    Args:
        folder: where they go.
        schedules: orders of blocks and threads in which the runs take turns.

    Raises:
        UserError: it crashes, its oracle rejects it, or it does not write what it should, or what
            it should not.
    """
    runs = max(2, subject.target.oracle.runs)
    answer = pool.one(Record(program, folder, runs, FIRST_LIMIT, dict(schedules)))
    if isinstance(answer, Lost | Refused):
        raise fault(subject, answer, "while its answers were recorded")
    assert isinstance(answer, Recorded)
    refuse(written_inputs(subject.target, answer.damaged))
    refuse(never_written(subject.target, answer.unwritten))
    refuse(nowhere_defined(subject.target, answer.undefined))
    for case, penalty in answer.penalties.items():
        if penalty:
            # What cannot be judged at all has nothing to do with how far results may be off.
            spread = (
                ", or allow for results that differ from run to run: larger `absolute` and"
                ' `relative` of kind = "tolerance"; kind = "sigma" with a larger `k`, or with'
                " `outside` as the share of values that may be far off"
            )
            races = races_of_rejected(subject, program, folder)
            raise UserError(
                f"the oracle rejects the reference on case {case!r}: penalty {penalty:g}:"
                f" {answer.reasons[case]}"
                + f"; its threads race: {'; '.join(races[:_SHOWN])}"
                * bool(races),
                where=place_of_oracle(subject.target),
                hint=_RACES * bool(races)
                + "the unmodified kernel must pass its own oracle: check [oracle]"
                + (spread if np.isfinite(penalty) else ""),
            )
    return answer


def _count_loops(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path
) -> dict[int, int]:
    """The limit of each loop: twice the most iterations seen without any change."""
    loops = subject.grammar.loops
    if not loops:
        return {}
    configuration = subject.original.configuration
    counting = as_candidate(subject, subject.parsed.instrument(), configuration)
    (binary,) = _compiled(subject, compiler, [counting], folder)
    program = counting.program(binary, subject.cases(CaseRole.TRAIN))
    answer = pool.ask(CountLoops(program, len(loops), FIRST_LIMIT))
    if isinstance(answer, Lost | Refused):
        raise fault(subject, answer, "while its loops were counted")
    assert isinstance(answer, LoopCounts)
    return {
        loop.ident: max(FEWEST_ITERATIONS, 2 * most)
        for loop, most in zip(loops, answer.most, strict=True)
    }
