"""What is asked of a worker and what it answers. All of it travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.protocol.input_requests import (
    AgreesWith,
    DependsOn,
    KeepsNothing,
    TellVarying,
    WritesTheSame,
)
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.schedules import Schedule, Schedules
from gi_cuda.backends.protocol.substitutes import Substituted
from gi_cuda.spec import Given


@dataclass(frozen=True, slots=True)
class Measure:
    """Verify a variant, time it against the reference, verify it again."""

    variant: Program
    reference: Program
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class SharedMeasurement:
    """Measure several variants together. Each is verified by itself; those that are right are timed
    in turn, so that one launch of the reference is the pair of a launch of each of them.

    The answer is one for each variant, in order.
    """

    variants: tuple[Program, ...]
    reference: Program
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Rehearse:
    """Verify several variants together, in code that does no harm. None is timed.

    The answer is one for each variant, in order.
    """

    variants: tuple[Program, ...]
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Record:
    """Run the reference and store its outputs, one ``<case>.npz`` each, below a folder.

    Attributes:
        schedules: under which its runs take turns, after a first one in the natural order.
    """

    reference: Program
    folder: Path
    runs: int
    limit: float
    schedules: Schedules = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrySchedule:
    """Run the reference under a schedule; the answer is whether its answers are right then too,
    and None where the device does not choose the order.

    Attributes:
        natural: kernels that keep the natural order.
    """

    reference: Program
    limit: float
    schedule: Schedule
    natural: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Run the reference with something left out; the answer is whether some case's answers are
    wrong then.

    Attributes:
        launches: of this kernel none is made; "": all are.
        contents: this buffer is poisoned wherever one kernel would hand it to another; "": none is.
        input: this one is zero everywhere; "": none is.
    """

    reference: Program
    limit: float
    launches: str = ""
    contents: str = ""
    input: str = ""


@dataclass(frozen=True, slots=True)
class SpoilOutputs:
    """Ask the oracle about the reference's recorded outputs, some of whose values are replaced. The
    answer is a :class:`Spoilt`."""

    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unseen:
    """A way to spoil an output that the oracle accepts on all cases.

    Attributes:
        buffer: the output.
        filling: what stands in place of the right values, in words.
        part: which of the output's values, in words.
        share: how many of them; 1: all.
    """

    buffer: str
    filling: str
    part: str
    share: float


@dataclass(frozen=True, slots=True)
class Spoilt:
    """What the oracle does not see in outputs, and what is peculiar to those of the reference.

    Attributes:
        unseen: the worst ways for each output, the largest share first.
        constant: outputs that hold one value, in words, everywhere on all cases.
        undefined: for each output and case with NaN among what the reference writes, how many.
    """

    unseen: tuple[Unseen, ...] = ()
    constant: Mapping[str, str] = field(default_factory=dict)
    undefined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountLoops:
    """Run an instrumented program and report the most iterations of each loop.

    Attributes:
        other: what stands in the place of an input, on the smallest case; None: all cases are run
            as they are.
    """

    program: Program
    loops: int
    limit: float
    other: Substituted | None = None


@dataclass(frozen=True, slots=True)
class TellInputs:
    """Say what the worker's cases hold. The answer is an :class:`Inputs`."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What cases hold, by their names."""

    given: Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class CompareAnswers:
    """Hold the reference's recorded answers against those that the data module knows of, if it
    does. The answer is an :class:`AnswersCompared`.

    Attributes:
        cases: names of those that the reference was recorded on.
    """

    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """How the reference's answers on a case compare with those that are known.

    Attributes:
        exact: whether they are the same bits.
        wrong: what the oracle says of them; "" where it is content.
    """

    exact: bool = False
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class AnswersCompared:
    """How answers compare, by case; of none where the data module knows none."""

    compared: Mapping[str, Compared]


@dataclass(frozen=True, slots=True)
class Explore:
    """Run the reference on one case where every access beside a buffer finds memory, and say what
    it does. The answer is an :class:`Explored`.

    Attributes:
        reference: with one case.
    """

    reference: Program
    limit: float


@dataclass(frozen=True, slots=True)
class Beyond:
    """How far from a buffer there were accesses, bytes.

    Attributes:
        before: its begin; 0: there were none.
        least, most: past its end there were some within ``least`` bytes, and perhaps up to
            ``most``.
    """

    before: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Explored:
    """What the reference did on a case.

    Attributes:
        seconds: of the faster one of two runs.
        beyond: by name, buffers that were accessed beside their memory. One is dynamic shared
            memory.
        changed: buffers with contents of the case that hold something else now.
        unwritten: poisoned and judged buffers in which nothing was written.
        varying: judged buffers whose contents differ between the runs.
        undefined: judged buffers that hold NaN everywhere.
        only: what all items are that it wrote to judged buffers, where that is one value in each
            of them; "" where it is not.
        magnitudes: of judged buffers of real numbers the median size of what it wrote that is
            neither 0 nor undefined; those without such are left out.
    """

    seconds: float
    beyond: Mapping[str, Beyond]
    changed: frozenset[str]
    unwritten: frozenset[str]
    varying: frozenset[str]
    undefined: frozenset[str] = frozenset()
    only: str = ""
    magnitudes: Mapping[str, float] = field(default_factory=dict)


DYNAMIC_SHARED = "dynamic shared memory"
"""Its name among the buffers of :class:`Explored`."""

STATIC_SHARED = "__shared__ "
"""What the names of variables in static shared memory begin with in messages."""


@dataclass(frozen=True, slots=True)
class GetReady:
    """Load what measuring variants of a reference takes. There is no answer."""

    reference: Program


Request = (
    Measure
    | SharedMeasurement
    | Rehearse
    | Record
    | CountLoops
    | TrySchedule
    | LeaveOut
    | DependsOn
    | AgreesWith
    | KeepsNothing
    | TellVarying
    | WritesTheSame
    | Explore
    | SpoilOutputs
    | TellInputs
    | CompareAnswers
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The reference's outputs were stored.

    Attributes:
        penalties, reasons: what its own oracle says of them, by case.
        damaged: what it wrote to and must not, by case: inputs, memory around buffers.
        unwritten: for each case and each buffer that is poisoned and judged how many of its
            elements still held poison, and how many it has.
        undefined: judged buffers that hold NaN everywhere, by case.
        changed: for each case and each judged buffer that the case gives how many of its elements
            became others, and how many it has.
        threads: the most that one launch has, whether all of its blocks ran or not.
        moved: bytes of each case's inputs, and of what is written to its outputs.
    """

    penalties: Mapping[str, float]
    reasons: Mapping[str, str]
    damaged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unwritten: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    undefined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    threads: int = 0
    moved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoopCounts:
    """The most iterations each loop made in one entry, by loop number."""

    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The worker lives, but could not do what was asked: a launch it refuses, a symbol missing.

    Attributes:
        where: file and line, where that is known.
        hint: what to do about it, where that is known.
        masked: whether it is that the mask of a warp function leaves out its caller.
        room: whether it is that the device has no memory left for it, beside what others hold.
    """

    message: str
    where: str = ""
    hint: str = ""
    masked: bool = False
    room: bool = False
