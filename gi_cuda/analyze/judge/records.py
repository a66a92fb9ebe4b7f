"""A verdict of the referee as values: what `--json`, the page and certificates say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.status import Status

FORMAT = 1
"""The version of the form of verdicts."""


class Outcome(StrEnum):
    """The end of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason of a verdict.

    Attributes:
        code: a name of the kind, for programs.
        said: in words; with the first wrong value, where answers are wrong.
        where: file and line; "" where none is known.
        case: the case that shows it; "" where none does.
        status: the verdict that it leads to by itself.
    """

    code: str
    said: str
    where: str = ""
    case: str = ""
    status: Status = Status.INCORRECT


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the rewrite.

    Attributes:
        name: what is checked.
        said: for one that was skipped, why; else what was looked at.
    """

    name: str
    outcome: Outcome
    said: str = ""


@dataclass(frozen=True, slots=True)
class OutputError:
    """The largest distance between an output and the original's.

    Attributes:
        output: the buffer.
        case: where it lies furthest.
        largest: the largest distance of two values there; None of what are no numbers.
        of_tolerance: that distance as a multiple of what the oracle allows for that value; None
            where the oracle has no tolerance.
        of_float64, original_of_float64: the largest distances of the rewrite's and of the
            original's values from what the original answers in double precision; None where that is
            not known.
    """

    output: str
    case: str
    largest: float | None
    of_tolerance: float | None
    of_float64: float | None = None
    original_of_float64: float | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """Speedups of a rewrite over its original.

    Attributes:
        overall, train, held_out: speed-ups on all cases and on those of each role.
        cases: on each case.
        noise: a copy of the original, measured in the same way.
        bar: what differs by less than this fraction counts as the same.
        rounds: rounds of measurement that it took.
    """

    overall: SpeedUp
    train: SpeedUp
    held_out: SpeedUp
    cases: Mapping[str, SpeedUp]
    noise: SpeedUp
    bar: float | None
    rounds: int


@dataclass(frozen=True, slots=True)
class Hashes:
    """SHA-256, in hexadecimal, of the texts of files by their paths, and of the inputs of cases."""

    original: Mapping[str, str] = field(default_factory=dict)
    rewritten: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the rewrite ran."""

    backend: str
    device: str
    system: str
    processors: int
    isolation: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict.

    Attributes:
        status: the verdict.
        exit_status: of the command.
        original, rewritten: as the user named them.
        kind: file, folder or diff.
        kernels: of the original.
        reasons: for the verdict, the gravest first.
        checks: all that were made, and those that were not.
        errors: of each output, where the rewrite ran.
        speed: None where the rewrite was not timed.
        launches: how the rewrite is launched, where that is not as the original.
        guessed: what of the target was assumed and nobody confirmed.
        seeds: of the cases' data.
        versions: of this tool and of all that a measurement depends on.
        seconds: that the verdict took.
        format: of this record.
    """

    status: Status
    exit_status: int
    original: str
    rewritten: str
    kind: str
    kernels: tuple[str, ...]
    reasons: tuple[Reason, ...]
    checks: tuple[Check, ...]
    errors: tuple[OutputError, ...]
    speed: Speed | None
    launches: tuple[str, ...]
    guessed: tuple[str, ...]
    seeds: Mapping[str, int]
    hashes: Hashes
    versions: Mapping[str, str]
    machine: Machine
    seconds: float
    format: int = FORMAT
