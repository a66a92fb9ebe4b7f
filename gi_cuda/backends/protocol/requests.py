"""Requests to workers and their answers. All of them are sent between processes."""

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
    """Request to verify a variant, time it against the reference, and verify it again."""

    variant: Program
    reference: Program
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class SharedMeasurement:
    """Request to measure several variants together.

    Each variant is verified by itself. Those that are right are timed in turn, and each launch of
    the reference is the baseline of one launch of each of them.

    There is one answer for each variant, in order.
    """

    variants: tuple[Program, ...]
    reference: Program
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Rehearse:
    """Request to verify several variants together, in confined code. None is timed.

    There is one answer for each variant, in order.
    """

    variants: tuple[Program, ...]
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Record:
    """Request to run the reference and store its outputs below a folder, in a ``<case>.npz`` each.

    Attributes:
        folder: the folder for the outputs.
        runs: number of runs.
        limit: seconds after which a launch counts as hung.
        schedules: thread orders that its runs use in turn, after a first run in the natural order.
    """

    reference: Program
    folder: Path
    runs: int
    limit: float
    schedules: Schedules = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrySchedule:
    """Request to run the reference in another thread order.

    The answer is True if its outputs are right, False if not, None if the device cannot choose the
    order.

    Attributes:
        limit: seconds after which a launch counts as hung.
        schedule: the thread order.
        natural: kernels that keep the natural order.
    """

    reference: Program
    limit: float
    schedule: Schedule
    natural: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Request to run the reference with something left out.

    The answer is True if the outputs of some case are wrong then.

    Attributes:
        limit: seconds after which a launch counts as hung.
        launches: a kernel that is not launched; "": all are.
        contents: a buffer that is poisoned wherever one kernel would pass it to another; "": none
            is.
        input: an input that is zero everywhere; "": none is.
    """

    reference: Program
    limit: float
    launches: str = ""
    contents: str = ""
    input: str = ""


@dataclass(frozen=True, slots=True)
class SpoilOutputs:
    """Request to judge the reference's recorded outputs after some of their values were replaced.

    The answer is a :class:`Spoilt`.
    """

    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unseen:
    """A way to spoil an output that the oracle accepts on all cases.

    Attributes:
        buffer: the output.
        filling: description of the values that replace the right ones.
        part: description of the values that are replaced.
        share: fraction of the values that are replaced; 1: all.
    """

    buffer: str
    filling: str
    part: str
    share: float


@dataclass(frozen=True, slots=True)
class Spoilt:
    """Errors that the oracle does not notice, and peculiarities of the reference's outputs.

    Attributes:
        unseen: the worst ways to spoil each output, the largest share first.
        constant: outputs that hold one value everywhere on all cases, with that value in words.
        undefined: by output and case, the number of NaN that the reference writes, if any.
    """

    unseen: tuple[Unseen, ...] = ()
    constant: Mapping[str, str] = field(default_factory=dict)
    undefined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CountLoops:
    """Request to run an instrumented program and count the iterations of each loop.

    The answer is a :class:`LoopCounts`.

    Attributes:
        loops: number of loops.
        limit: seconds after which a launch counts as hung.
        other: substitute for an input, on the smallest case; None: all cases are run unchanged.
    """

    program: Program
    loops: int
    limit: float
    other: Substituted | None = None


@dataclass(frozen=True, slots=True)
class TellInputs:
    """Request to describe the data of the worker's cases. The answer is an :class:`Inputs`."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Data of cases, by the cases' names."""

    given: Mapping[str, Given]


@dataclass(frozen=True, slots=True)
class CompareAnswers:
    """Request to compare the reference's recorded outputs with the data module's known answers.

    The answer is an :class:`AnswersCompared`.

    Attributes:
        cases: names of the cases that the reference was recorded on.
    """

    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of the reference's outputs on a case with the known answers.

    Attributes:
        exact: whether they are the same bits.
        wrong: the oracle's objection; "" if it accepts the outputs.
    """

    exact: bool = False
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class AnswersCompared:
    """Comparisons with known answers, by case; empty if the data module knows none."""

    compared: Mapping[str, Compared]


@dataclass(frozen=True, slots=True)
class Explore:
    """Request to run the reference on one case on a device that tolerates accesses beside buffers.

    The answer is an :class:`Explored`.

    Attributes:
        reference: a program with one case.
        limit: seconds after which a launch counts as hung.
    """

    reference: Program
    limit: float


@dataclass(frozen=True, slots=True)
class Beyond:
    """The distance of accesses outside a buffer from it, in bytes.

    Attributes:
        before: distance of the farthest access before the buffer's begin; 0: there was none.
        least, most: bounds on the distance past the buffer's end. There were accesses within
            ``least`` bytes, and perhaps up to ``most``.
    """

    before: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Explored:
    """Observations from running the reference on a case.

    Attributes:
        seconds: time of the faster of two runs.
        beyond: accesses outside of buffers, by buffer name. :data:`DYNAMIC_SHARED` is one of the
            names.
        changed: buffers with contents of the case that hold something else now.
        unwritten: poisoned and judged buffers that were not written.
        varying: judged buffers whose contents differ between the runs.
        undefined: judged buffers that hold NaN everywhere.
        only: description of the written value, if each judged buffer was written with one value
            everywhere; else "".
        magnitudes: for judged buffers of real numbers, the median magnitude of the written values,
            without zeros and NaN. Buffers with no other values are left out.
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
"""Name of dynamic shared memory among the buffers of :class:`Explored`."""

STATIC_SHARED = "__shared__ "
"""Prefix of the names of variables in static shared memory in messages."""


@dataclass(frozen=True, slots=True)
class GetReady:
    """Request to load all that measuring variants of a reference needs. It has no answer."""

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
    """Answer to :class:`Record`: the reference's outputs were stored.

    Attributes:
        penalties, reasons: the verdict of the target's oracle on the outputs, by case.
        damaged: by case, names of memory that it wrote to but must not: inputs, memory around
            buffers.
        unwritten: for each case and each buffer that is poisoned and judged, the number of elements
            that still held poison, and the number of all elements.
        undefined: by case, judged buffers that hold NaN everywhere.
        changed: for each case and each judged buffer that the case gives, the number of elements
            that changed, and the number of all elements.
        threads: the largest number of threads of a launch, even if only a sample of its blocks ran.
        moved: by case, bytes of the inputs and of the written outputs.
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
    """The largest number of iterations of each loop in one entry, by loop number."""

    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The worker could not do what was asked, but lives, e.g. if the device refuses a launch.

    Attributes:
        message: the reason.
        where: file and line, if known.
        hint: what to do about it, if known.
        masked: whether the reason is that the mask of a warp function leaves out its caller.
        room: whether the reason is that other workers' memory leaves too little on the device.
    """

    message: str
    where: str = ""
    hint: str = ""
    masked: bool = False
    room: bool = False
