"""Cases with other inputs than they give, and what programs answer on them."""

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
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.room import memory
from gi_cuda.errors import UserError
from gi_cuda.spec import CaseData, plan
from gi_cuda.spec.oracles import Outputs, Rules
from gi_cuda.spec.other_sizes import OtherCase, outside_domain, sizes_of

AT_LEAST, LONGER = 0.5, 20
"""Seconds that a launch with something else may take, and how many times what it takes without."""

_KEPT, _SHARE = 64 * 2**20, 64
"""Bytes that are remembered at least, and the part of all memory that they may take."""

_ROOM = 64 * 2**20
"""Bytes that a case of another size may need; more only where it is a quarter of what the largest
case does. Each worker keeps the buffers of all of them."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A case with something else in the place of an input, or another one beside the case.

    Attributes:
        given: how the program runs the case.
        plan: how it runs with that.
        contents: what the buffer holds then, by its name; nothing for a scalar.
        data: what the case holds then, as oracles get it.
    """

    given: CasePlan
    plan: CasePlan
    contents: Mapping[str, NDArray[Any]]
    data: CaseData


def most_kept() -> int:
    """Return the bytes of contents, or of answers with them, that a worker remembers."""
    return max(_KEPT, memory() // _SHARE)


def smallest(runner: CaseRunner, program: Program, reference: Program) -> tuple[CasePlan, CasePlan]:
    """Return how a program and the reference run the case with the least data."""
    mine, theirs = runner.plans(program), runner.plans(reference)
    at = min(range(len(theirs)), key=lambda case: sum(theirs[case].sizes.values()))
    return mine[at], theirs[at]


def changed(
    runner: CaseRunner, program: Program, pair: Substituted, given: CasePlan
) -> Changed | None:
    """A case of a program with something else; None where there is no case of that size."""
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
    """A case of which kernels write an output to where they read an input; None where that has
    another size, or some launch does not get both."""
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
    """A case of another size beside one of a program. None where the data module has none, it is
    outside the target's domain, or it needs far more memory than the others."""
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
    """The memory that the buffers of a case take."""
    return sum(case_plan.sizes[one.name] * one.dtype.itemsize for one in runner.target.buffers)


def substituted(
    runner: CaseRunner,
    program: Program,
    pairs: Sequence[tuple[str, Substitute]],
    given: CasePlan,
) -> Changed:
    """A case of a program with something else in the place of inputs."""
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
    """The contents of a buffer of a case with a substitute; remembered, as they take long to make
    and many variants are asked about them."""
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
    """The answers of a program on a case.

    Attributes:
        seconds: that it took.
        outputs: none where these are known to be right.
        damaged: what it wrote to and must not.
    """

    seconds: float
    outputs: Outputs
    damaged: tuple[str, ...]

    def kept(self) -> Answers:
        """Return the same in memory of its own, which stays as it is."""
        return replace(self, outputs={name: np.copy(one) for name, one in self.outputs.items()})


@dataclass(frozen=True, slots=True)
class Expected:
    """Answers of the reference with something else in the place of an input.

    Attributes:
        limit: seconds in which variants answer as well.
        runs: as many as the oracle needs.
        scale: as :func:`why_wrong` takes it.
    """

    limit: float
    runs: tuple[Answers, ...]
    scale: float


@dataclass(frozen=True, slots=True)
class Right:
    """Answers that are known to be right, and what is as good: see :class:`TimedRun`."""

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
    """Answers of a program on a case, where some buffers hold something else.

    Args:
        right: what need not be told.
    """
    with runner.device.turn():
        loaded = runner.device.load(program.binary)
        found = launched(runner, loaded, case_plan, limit, contents, right)
        runner.device.unload(loaded)
    return found.kept()  # others have the device meanwhile


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
    """Answers of a program that is loaded, valid until the device is asked for outputs again: see
    :func:`answers_of` and :meth:`.Device.run`."""
    runner.device.prepare(case_plan)
    for name, array in contents.items():
        runner.device.put(case_plan, name, array)
    seconds = runner.device.run(loaded, case_plan, limit, keeping=keeping)
    known = right and runner.device.agrees(case_plan, right.outputs, right.rules)
    outputs = {} if known else runner.device.outputs(case_plan)
    damaged = runner.device.damaged(case_plan)  # mends the inputs as well
    return Answers(seconds, outputs, tuple(one for one in damaged if one not in contents))
