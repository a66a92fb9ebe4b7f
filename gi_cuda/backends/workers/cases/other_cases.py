"""Cases with substituted inputs, and the outputs of programs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import Loaded
from gi_cuda.backends.protocol.programs import CasePlan, Program
from gi_cuda.backends.protocol.substitutes import InPlace, Substitute, Substituted, struct_size
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.memory_check import memory
from gi_cuda.errors import UserError
from gi_cuda.spec import CaseData, plan
from gi_cuda.spec.case_data.other_sizes import OtherCase, outside_domain, sizes_of
from gi_cuda.spec.oracles import Outputs, Rules

AT_LEAST, LONGER = 0.5, 20
"""AT_LEAST: seconds that a launch with a substitute may take in any case. LONGER: multiple of the
time with the original input that it may take in addition."""

_KEPT, _SHARE = 64 * 2**20, 64
"""_KEPT: bytes that are cached at least. _SHARE: divisor of all memory for the cache's limit."""

_ROOM = 64 * 2**20
"""Bytes that a case of another size may take; more only up to a quarter of the largest case.

Each worker keeps the buffers of all of them.
"""


@dataclass(frozen=True, slots=True)
class Changed:
    """A case with substituted inputs, or another case in place of one.

    Attributes:
        given: the program's plan for the original case.
        plan: its plan for the changed case.
        contents: the substituted contents of buffers, by name.
        data: the data of the changed case, for oracles.
    """

    given: CasePlan
    plan: CasePlan
    contents: Mapping[str, NDArray[Any]]
    data: CaseData


def most_kept() -> int:
    """Return the bytes of substituted contents, or of outputs on them, that a worker caches."""
    return max(_KEPT, memory() // _SHARE)


def smallest(runner: CaseRunner, program: Program, reference: Program) -> tuple[CasePlan, CasePlan]:
    """Return the plans by which a program and the reference run the case with the least data."""
    mine, theirs = runner.plans(program), runner.plans(reference)
    at = min(range(len(theirs)), key=lambda case: sum(theirs[case].sizes.values()))
    return mine[at], theirs[at]


def changed(
    runner: CaseRunner, program: Program, pair: Substituted, given: CasePlan
) -> Changed | None:
    """Return a program's changed case; None if it cannot be made.

    Args:
        pair: an input (or a description) and its substitute.
        given: the plan for the original case.
    """
    name, other = pair
    if isinstance(other, OtherCase):
        return _of_other_size(runner, program, other, given)
    if isinstance(other, Substitute):
        return substituted(runner, program, [(name, other)], given)
    if isinstance(other, InPlace):
        return _in_place(runner, other, given)
    if other.case is None:
        return substituted(runner, program, other.parts, given)
    one = _of_other_size(runner, program, other.case, given)
    return one and replace(substituted(runner, program, other.parts, one.plan), given=given)


def _in_place(runner: CaseRunner, other: InPlace, given: CasePlan) -> Changed | None:
    """Return a case in which an output has the memory of an input.

    None if their sizes differ, or a launch does not get both.
    """
    if given.sizes[other.input] != given.sizes[other.output] or given.offsets:
        return None
    launches = []
    for one in given.launches:
        names = [arg if isinstance(arg, str) else "" for arg in one.args]
        if not {other.input, other.output} <= {*names}:
            return None
        pairs = zip(one.args, names, strict=True)
        args = tuple(other.output if name == other.input else arg for arg, name in pairs)
        launches.append(replace(one, args=args))
    data = runner.cases[given.case]
    contents = {other.output: data.buffers[other.input]}
    return Changed(given, replace(given, launches=tuple(launches)), contents, data)


def _of_other_size(
    runner: CaseRunner, program: Program, other: OtherCase, given: CasePlan
) -> Changed | None:
    """Return a case of another size.

    None if the data module cannot make it, it is outside the target's domain, or it needs far more
    memory than the others.
    """
    name = other.case.name
    try:
        data = runner.made(other.case)
    except UserError:
        return None
    if outside_domain(runner.target, {**sizes_of(other.case), **data.integers}):
        return None
    (found,) = runner.plans(replace(program, cases=(name,)))
    known = max(_bytes(runner, one) for one in runner.plans(program))
    fits = _bytes(runner, found) <= max(_ROOM, known // 4)
    return Changed(given, found, {}, data) if fits else None


def _bytes(runner: CaseRunner, case_plan: CasePlan) -> int:
    """Return the memory that the buffers of a case take, in bytes."""
    return sum(case_plan.sizes[one.name] * one.dtype.itemsize for one in runner.target.buffers)


def substituted(
    runner: CaseRunner,
    program: Program,
    pairs: Sequence[tuple[str, Substitute]],
    given: CasePlan,
) -> Changed:
    """Return a program's case with substituted inputs."""
    data = runner.cases[given.case]
    contents = {
        name: _contents(runner, given.case, name, other)
        for name, other in pairs
        if name in data.buffers
    }
    changes = {name: other.of for name, other in pairs if name not in data.buffers}
    scalars = dict(data.scalars)
    case_plan = given
    if changes:
        launches = plan(program.launched(runner.target), program.configuration, scalars, changes)
        case_plan = replace(given, launches=launches)
        scalars |= {name: of(scalars[name]) for name, of in changes.items() if name in scalars}
    data = replace(data, buffers={**data.buffers, **contents}, scalars=scalars)
    return Changed(given, case_plan, contents, data)


def _contents(runner: CaseRunner, case: str, name: str, other: Substitute) -> NDArray[Any]:
    """Return the substituted contents of a case's buffer.

    Cached, since they take long to make and are used for many variants.
    """
    key = case, name, other
    if key not in runner.contents:
        if sum(one.nbytes for one in runner.contents.values()) > most_kept():
            runner.contents.clear()
        buffer = next(one for one in runner.target.buffers if one.name == name)
        array = runner.cases[case].buffers[name]
        runner.contents[key] = other.contents(array, buffer.type.small, struct_size(buffer))
    return runner.contents[key]


@dataclass(frozen=True, slots=True)
class Answers:
    """The outputs of a program on a case.

    Attributes:
        seconds: time that it took.
        outputs: its outputs; empty if they are known to be right.
        damaged: names of memory that it wrote to but must not.
    """

    seconds: float
    outputs: Outputs
    damaged: tuple[str, ...]

    def kept(self) -> Answers:
        """Return a copy whose outputs stay valid."""
        return replace(self, outputs={name: np.copy(one) for name, one in self.outputs.items()})


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's outputs with substituted inputs.

    Attributes:
        limit: seconds in which variants have to finish.
        runs: as many runs as the oracle needs.
        scale: see :func:`why_wrong`.
    """

    limit: float
    runs: tuple[Answers, ...]
    scale: float


@dataclass(frozen=True, slots=True)
class Right:
    """Outputs that are right, and rules by which others are as good; see :class:`TimedRun`."""

    outputs: Outputs
    rules: Rules | None


def answers_of(
    runner: CaseRunner,
    program: Program,
    case_plan: CasePlan,
    limit: float,
    contents: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    right: Right | None = None,
) -> Answers:
    """Load a program, run it on a case and return its outputs.

    Args:
        contents: substituted contents of buffers.
        right: outputs that need not be returned.
    """
    with runner.device.turn():
        loaded = runner.device.load(program.binary)
        found = launched(runner, loaded, case_plan, limit, contents, right)
        runner.device.unload(loaded)
    return found.kept()  # now other workers use the device


def launched(
    runner: CaseRunner,
    loaded: Loaded,
    case_plan: CasePlan,
    limit: float,
    contents: Mapping[str, NDArray[Any]],
    right: Right | None = None,
    *,
    keeping: bool = False,
) -> Answers:
    """Run a loaded program; its outputs are valid until the device is asked for outputs again.

    See :func:`answers_of` and :meth:`.Device.run`.
    """
    runner.device.prepare(case_plan)
    for name, array in contents.items():
        runner.device.put(case_plan, name, array)
    seconds = runner.device.run(loaded, case_plan, limit, keeping=keeping)
    known = right and runner.device.agrees(case_plan, right.outputs, right.rules)
    outputs = {} if known else runner.device.outputs(case_plan)
    damaged = runner.device.damaged(case_plan)  # mends the inputs as well
    return Answers(seconds, outputs, tuple(one for one in damaged if one not in contents))
