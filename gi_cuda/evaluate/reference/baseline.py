"""Baseline measurements of the unmodified kernel before a search.

They show that the reference passes its own oracle, that a copy of it measures as equally fast, and
that a deliberately broken variant is rejected. They yield the noise floor and the iteration counts
of loops.
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
from gi_cuda.evaluate.checks.buffers import never_written, nowhere_defined, written_inputs
from gi_cuda.evaluate.checks.finding import refuse
from gi_cuda.evaluate.checks.parameters.arguments import read_signatures, wrong_arguments
from gi_cuda.evaluate.checks.parameters.defaults import check_defaults
from gi_cuda.evaluate.reference.complaints import does_not_compile
from gi_cuda.evaluate.reference.copies import COPIES, FIRST_LIMIT, floor_of, time_copies, verdict_of
from gi_cuda.evaluate.reference.faults import fault, place_of_oracle
from gi_cuda.evaluate.scrutiny.ordering.orders import races_of_rejected, standing, to_record
from gi_cuda.genome import Delete
from gi_cuda.grammar import LATE, RuleType
from gi_cuda.results.verdict import Verdict
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject

SLACK = 20.0
"""Multiple of the reference's time on the train cases after which a launch counts as hung. It is
large because held-out cases may be larger."""

LEAST_LIMIT = 0.05
"""Lower bound of the time limit of a launch, in seconds."""

FEWEST_ITERATIONS = 16
"""Lower bound of the iteration limit of a guarded loop."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Measurements of the reference.

    Attributes:
        seconds: its median time over all timed train cases; with several devices, on the slowest.
        floor: the noise floor, as a fraction: the largest distance from 1 that the ratio of a copy
            to the reference may show, by the 95 % intervals of several copies.
        copies: median ratio of each copy to the reference.
        loops: iteration limit of each guarded loop, by loop number.
        limit: seconds after which a launch counts as hung.
        penalties: the oracle's penalty of the reference for each case; all 0.
        verdict: verdict on a copy that was not used to find the floor.
        schedules: orders of blocks and threads in which its outputs are right too.
        ordered: whether the device follows these orders; else it chooses its own.
        unwritten: by case and output, the number of elements that no launch of the reference
            writes, and the number of all elements.
        undefined: by case, the judged buffers in which the reference writes only NaN.
        changed: by case and judged buffer with initial contents, the number of elements that the
            reference changes, and the number of all elements.
        on_each: `seconds` on each device, in order; empty with one device.
        recorded: orders of blocks and threads, besides the natural one, in which its outputs were
            recorded to see how much they differ.
        siblings: further cases on which its outputs are recorded, for variants that look faster in
            a search.
        moved: bytes of all inputs of the timed train cases, and of the written outputs.
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
        """Return the seconds after which a launch on a train case counts as hung in a search.

        Args:
            slack: multiple of the reference's time beyond which a variant is useless.
        """
        return max(LEAST_LIMIT, slack * self.seconds)


@dataclass(frozen=True, slots=True)
class Caught:
    """The result of a deliberately broken variant."""

    survival: str
    penalty: float | None
    message: str


def broken(subject: Subject, limits: Mapping[int, int]) -> Candidate:
    """Return a variant that cannot be right: all statements of all evolved functions are deleted.

    Its loops keep their iteration limits, so that it ends and the oracle judges it.
    """
    statements = [r.name for r in subject.grammar.rules if r.type is RuleType.STATEMENT]
    edits = tuple(Delete(name) for name in statements)
    one = candidate(subject, replace(subject.original, edits=edits), limits)
    return replace(one, macros={**one.macros, LATE: "bool"})


def check_against_source(subject: Subject, compiler: Compiler) -> None:
    """Refuse a target that contradicts its source.

    Raises:
        UserError: a default differs from the source's, or a launch passes arguments that do not fit
            the kernel.
    """
    code = subject.source
    check_defaults(code, compiler)
    refuse(wrong_arguments(subject.target, read_signatures(code, compiler)))


def compile_reference(
    subject: Subject, compiler: Compiler, texts: Sequence[str], folder: Path
) -> list[Binary]:
    """Compile texts under the reference's configuration.

    Raises:
        UserError: a text does not compile; with the compiler's message and the line in the source.
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
    """Ignore a progress message."""


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
    """Measure everything that a search must know about the reference, and store its outputs.

    Args:
        folder: for binaries.
        reference: folder for the reference's outputs, for all cases of the pool's session.
        tell: receives a message before each step.
        copies: number of copies of the reference that are timed to find the noise floor.

    Raises:
        UserError: the defaults differ from the source's, the source does not compile, the reference
            crashes, its oracle rejects it, or it writes too little or what it must not.
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
    """Return a baseline from another machine with the times and the noise of this machine.

    Args:
        folder: for binaries.
        baseline: its noise floor is a lower bound for this machine's.

    Raises:
        UserError: the reference does not compile here, its outputs differ from the recorded ones,
            or nothing can be timed.
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
    """Run a deliberately broken variant, to prove that the oracle rejects wrong variants.

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
"""Number of races of a reference that a message lists."""


def record_reference(
    subject: Subject,
    pool: Pool[int],
    program: Program,
    folder: Path,
    schedules: Schedules = MappingProxyType({}),
) -> Recorded:
    """Run the reference and store its outputs.

    Args:
        folder: for the outputs.
        schedules: orders of blocks and threads, which the runs use in turn.

    Raises:
        UserError: the reference crashes, its oracle rejects it, or it writes too little or what it
            must not.
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
            # An infinite penalty means that nothing could be judged: a tolerance does not help.
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
    """Return the iteration limit of each loop: twice the largest count seen without changes."""
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
