"""Records of a verdict, for `--json`, the page and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.status import Status

FORMAT = 1
"""Version of the format of verdicts."""


class Outcome(StrEnum):
    """Result of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason of a verdict.

    Attributes:
        code: name of the kind of reason, for programs.
        said: the reason in words; for wrong answers, with the first wrong value.
        where: file and line; "" if unknown.
        case: the case that shows it; "" if none does.
        status: the verdict that the reason leads to by itself.
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
        name: name of the check.
        outcome: result of the check.
        said: reason of a skipped check; else details.
    """

    name: str
    outcome: Outcome
    said: str = ""


@dataclass(frozen=True, slots=True)
class OutputError:
    """The largest difference between an output of the rewrite and of the original.

    Attributes:
        output: name of the buffer.
        case: case with the largest difference.
        largest: largest absolute difference of two values; None if the values are no numbers.
        of_tolerance: largest difference as a multiple of the oracle's tolerance for the value; None
            if the oracle has no tolerance.
        of_float64, original_of_float64: largest differences of the rewrite's and of the original's
            values from the original's answers in double precision; None if these are unknown.
    """

    output: str
    case: str
    largest: float | None
    of_tolerance: float | None
    of_float64: float | None = None
    original_of_float64: float | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed-ups of a rewrite over its original.

    Attributes:
        overall, train, held_out: speed-ups on all cases, and on the cases of each role.
        cases: speed-up on each case.
        noise: speed-up of a copy of the original, measured in the same way.
        bar: threshold as a fraction; smaller differences count as the same. None: too much noise.
        rounds: number of rounds of measurement.
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
    """SHA-256 hashes in hexadecimal.

    Attributes:
        original, rewritten, target: hashes of files, by path.
        inputs: hashes of inputs, by case.
    """

    original: Mapping[str, str] = field(default_factory=dict)
    rewritten: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that ran the rewrite.

    Attributes:
        backend: name of the back end.
        device: name of the device.
        system: operating system.
        processors: number of CPUs.
        isolation: description of the sandbox of kernels.
    """

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
        exit_status: exit status of the command.
        original, rewritten: the user's names for them.
        kind: file, folder or diff.
        kernels: kernels of the original.
        reasons: reasons for the verdict, the gravest first.
        checks: all checks, including skipped ones.
        errors: largest error of each output, if the rewrite ran.
        speed: speed-ups; None if the rewrite was not timed.
        launches: descriptions of the rewrite's launches, if they differ from the original's.
        guessed: unconfirmed values of the target.
        seeds: seeds of the cases' data, by case.
        hashes: hashes of all texts and inputs.
        versions: versions of gi-cuda and of the tools that affect measurements.
        machine: the machine that ran the rewrite.
        seconds: time for the verdict.
        format: version of the record's format.
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
