"""What programs answer with something else in the place of an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import Loaded
from gi_cuda.backends.protocol.programs import CasePlan, Program
from gi_cuda.backends.protocol.requests import AgreesWith, DependsOn
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.substitutes import Substitute, Substituted
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.recording import unwritten
from gi_cuda.backends.workers.room import memory
from gi_cuda.errors import UserError
from gi_cuda.spec import CaseData, plan
from gi_cuda.spec.oracles import Allowed, Outputs, Rules, ValueRule
from gi_cuda.spec.other_sizes import LARGER, OtherSize, outside_domain, sizes_of

AT_LEAST, LONGER = 0.5, 20
"""Seconds that a launch with something else may take, and how many times what it takes without."""

_WIDER = 10.0
"""How many times its tolerance an oracle allows with something else. The tolerance was chosen for
the case's own numbers; a long sum of which a few terms are most depends more on the order of
additions."""

_SEVERAL = 2 * LARGER
"""Times as much memory as its largest case that one of another size may need."""

_LEAST_SCALE = 1e-3
"""Of a tolerance that is so much smaller as answers are, where an input is made a thousandth."""

_KEPT, _SHARE = 64 * 2**20, 64
"""Bytes of the reference's answers that are remembered at least, and the part of all memory that
they may take."""


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


def depends_on(runner: CaseRunner, request: DependsOn) -> bool:
    """Whether a program's answers are other ones with something else in the place of an input."""
    for given in runner.plans(request.program):
        one = _substituted(runner, request.program, request.input, request.substitute, given)
        runner.device.make_room(one.given)
        before = answers_of(runner, request.program, one.given, request.limit)
        limit = min(request.limit, AT_LEAST + LONGER * before.seconds)
        same = Right(before.outputs, None)
        if answers_of(runner, request.program, one.plan, limit, one.contents, same).outputs:
            return True
    return False


def agrees_with(runner: CaseRunner, request: AgreesWith) -> str | None:
    """Why a program is wrong with something else in the place of an input, where the reference runs
    with that is what is right; "" where it is not. None where the reference writes where it must
    not then, the oracle does not accept its own answers, or with another size they are no numbers
    where they were, or depend on the order of threads as they did not."""
    # One case tells as much as several, as what is in the place of an input is the same.
    pair = request.input, request.substitute
    mine, theirs = smallest(runner, request.program, request.reference)
    right = changed(runner, request.reference, pair, theirs)
    if right is None:
        return None
    one = changed(runner, request.program, pair, mine)
    assert one is not None, "a case that is there for the one is there for the other"
    runner.device.make_room(right.given)
    expected = _expected(runner, request, right)
    if expected is None:
        return None
    overflow = isinstance(request.substitute, Substitute) and request.substitute.to_overflow
    rules = _finite(runner) if overflow else near(runner) if expected.scale == 1 else None
    known = Right(expected.runs[0].outputs, rules)
    found = answers_of(runner, request.program, one.plan, expected.limit, one.contents, known)
    if overflow:
        wrong = _why_overflown(found, expected.runs[0])
    else:
        wrong = why_wrong(runner, right, found, expected.runs, expected.scale)
    named = "" if isinstance(request.substitute, OtherSize) else f"{one.plan.case}: "
    return f"{named}{wrong}" if wrong else ""


def near(runner: CaseRunner) -> Rules | None:
    """Rules for answers beside the reference's with something else; None where the oracle has to
    be asked."""
    return runner.target.oracle.wider(_WIDER).rules(runner.types)


def _finite(runner: CaseRunner) -> Rules:
    """Rules by which all but an overflow is good."""
    return {
        name: (ValueRule(Allowed.FINITE, kind),) if kind.dtype.kind == "f" else ()
        for name, kind in runner.types.items()
    }


def _expected(runner: CaseRunner, request: AgreesWith, right: Changed) -> _Expected | None:
    """The reference's answers, or None as :func:`agrees_with` says; remembered, since many variants
    are held against them."""
    reference = request.reference
    values = tuple(reference.configuration.items())
    key = reference.binary.path, values, right.plan.case, request.input, str(request.substitute)
    if key not in runner.expected:
        known = [run for one in runner.expected.values() if one for run in one.runs]
        size = sum(array.nbytes for run in known for array in run.outputs.values())
        if size > max(_KEPT, memory() // _SHARE):
            runner.expected.clear()
        runner.expected[key] = _fit(runner, request, right)
    found: _Expected | None = runner.expected[key]
    return found


def _fit(runner: CaseRunner, request: AgreesWith, right: Changed) -> _Expected | None:
    """The reference's answers, where they are fit to compare with."""
    given = answers_of(runner, request.reference, right.given, request.limit)
    limit = min(request.limit, AT_LEAST + LONGER * given.seconds)
    runs = [
        answers_of(runner, request.reference, right.plan, limit, right.contents)
        for _ in range(runner.target.oracle.runs)
    ]
    other = isinstance(request.substitute, OtherSize)
    scaled = isinstance(request.substitute, Substitute) and request.substitute.scaled
    scale = _scale(given, runs[0]) if scaled else 1.0
    known = Right(runs[0].outputs, near(runner) if scale == 1 else None)
    again = answers_of(runner, request.reference, right.plan, limit, right.contents, known)
    if why_wrong(runner, right, again, runs, scale) or _unjudged(runner, right, runs):
        return None
    whole = {one.name for one in runner.target.scalars if one.dtype.kind != "f"}
    if other or request.input in whole:
        if _is_lost(runner, right, given, runs[0]):
            return None  # a source that is made for some sizes reads what nothing has set
        if _is_ordered(runner, request.reference, right, given, runs):
            return None  # and with others its threads write where others do
    return _Expected(limit, tuple(runs), scale)


def _scale(given: Answers, found: Answers) -> float:
    """How much smaller answers are than with what the case gives; at most 1."""
    parts = [1.0]
    for name, array in found.outputs.items():
        if array.dtype.kind == "f" and (size := _size(given.outputs[name])):
            parts.append(max(_LEAST_SCALE, _size(array) / size))
    return min(parts)


def _size(array: NDArray[Any]) -> float:
    """The median of what is there in amounts."""
    sizes = np.abs(array[np.isfinite(array) & (array != 0)])
    return float(np.median(sizes)) if sizes.size else 0.0


def _why_overflown(found: Answers, right: Answers) -> str:
    """Where answers are infinite or no numbers, and the reference's are not; "" if nowhere."""
    for name, array in found.outputs.items():
        if array.dtype.kind == "f":
            lost = np.flatnonzero(np.isfinite(right.outputs[name]) & ~np.isfinite(array))
            if lost.size:
                at = lost[0]
                return f"{name}[{at}] is {array[at]}, expected {right.outputs[name][at]}"
    return ""


def _is_lost(runner: CaseRunner, case: Changed, given: Answers, found: Answers) -> bool:
    """Whether answers are no numbers that were, or a larger part of them was never written."""
    alike = case.plan.sizes == case.given.sizes
    for name, array in found.outputs.items():
        if array.dtype.kind == "f":
            lost, known = np.isnan(array), np.isnan(given.outputs[name])
            if np.any(lost & ~known) if alike else np.any(lost) and not np.any(known):
                return True
    before = unwritten(runner.target, case.given, given.outputs)
    now = unwritten(runner.target, case.plan, found.outputs)
    return any(_part(*now[name]) > _most_unwritten(_part(*one)) for name, one in before.items())


def _part(some: int, all_of_them: int) -> float:
    return some / max(1, all_of_them)


def _most_unwritten(part: float) -> float:
    """The part of an output that may stay unwritten with another size, by that of the case."""
    return (part + 1) / 2 if part else 0.0


def _is_ordered(
    runner: CaseRunner,
    reference: Program,
    case: Changed,
    given: Answers,
    runs: Sequence[Answers],
) -> bool:
    """Whether the reference's answers are wrong in the opposite order of threads, where the device
    has a choice, and are not so with what the case gives."""
    limit = AT_LEAST + 2 * LONGER * given.seconds
    with runner.device.scheduled(Schedule.REVERSED, ()) as chosen:
        if not chosen:
            return False
        known = Right(runs[0].outputs, near(runner))
        turned = answers_of(runner, reference, case.plan, limit, case.contents, known)
        if not why_wrong(runner, case, turned, runs):
            return False
        whole = Changed(case.given, case.given, {}, runner.cases[case.given.case])
        known = Right(given.outputs, near(runner))
        turned = answers_of(runner, reference, case.given, limit, right=known)
        return not why_wrong(runner, whole, turned, [given])


def _unjudged(runner: CaseRunner, case: Changed, runs: Sequence[Answers]) -> bool:
    """Whether the oracle does not accept the very answers that it compares with: it may have been
    written for what the case holds alone."""
    if runner.rules is not None:
        return False  # whatever the values are, each is as good as itself
    oracle = runner.target.oracle
    expected = oracle.reference([run.outputs for run in runs])
    return not oracle.judge(case.data.values, runs[0].outputs, expected).acceptable


def why_wrong(
    runner: CaseRunner,
    case: Changed,
    found: Answers,
    runs: Sequence[Answers],
    scale: float = 1.0,
) -> str:
    """What is wrong with answers beside those of the reference's runs; "" where nothing is.

    Args:
        scale: how many times smaller than the case's own answers they are, and what is allowed.
    """
    if found.damaged:
        return f"wrote where it must not: {', '.join(found.damaged)}"
    if not found.outputs:
        return ""
    oracle = runner.target.oracle.wider(_WIDER)
    scaled = [_times(1 / scale, run.outputs) for run in (found, *runs)]
    verdict = oracle.judge(case.data.values, scaled[0], oracle.reference(scaled[1:]))
    return "" if verdict.acceptable else verdict.reason or "its answers are not acceptable"


def _times(times: float, outputs: Outputs) -> Outputs:
    """Answers, so many times as large where they are real numbers."""
    if times == 1:
        return outputs
    return {
        name: array * array.dtype.type(times) if array.dtype.kind == "f" else array
        for name, array in outputs.items()
    }


def smallest(runner: CaseRunner, program: Program, reference: Program) -> tuple[CasePlan, CasePlan]:
    """How a program and the reference run the case that has least data."""
    mine, theirs = runner.plans(program), runner.plans(reference)
    at = min(range(len(theirs)), key=lambda case: sum(theirs[case].sizes.values()))
    return mine[at], theirs[at]


def changed(
    runner: CaseRunner, program: Program, pair: Substituted, given: CasePlan
) -> Changed | None:
    """A case of a program with something else; None where there is no case of that size."""
    name, other = pair
    if isinstance(other, OtherSize):
        return _of_other_size(runner, program, other, given)
    return _substituted(runner, program, name, other, given)


def _of_other_size(
    runner: CaseRunner, program: Program, other: OtherSize, given: CasePlan
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
    return Changed(given, found, {}, data) if _bytes(runner, found) <= _SEVERAL * known else None


def _bytes(runner: CaseRunner, case_plan: CasePlan) -> int:
    """The memory that the buffers of a case take."""
    return sum(case_plan.sizes[one.name] * one.dtype.itemsize for one in runner.target.buffers)


def _substituted(
    runner: CaseRunner, program: Program, name: str, substitute: Substitute, given: CasePlan
) -> Changed:
    """A case of a program with something else in the place of an input."""
    data = runner.cases[given.case]
    if name in data.buffers:
        contents = {name: substitute.contents(data.buffers[name])}
        return Changed(given, given, contents, replace(data, buffers={**data.buffers, **contents}))
    changes = {name: substitute.of}
    launches = plan(program.launched(runner.target), program.configuration, data.scalars, changes)
    scalars = dict(data.scalars)
    if name in scalars:
        scalars[name] = substitute.of(scalars[name])
    return Changed(given, replace(given, launches=launches), {}, replace(data, scalars=scalars))


@dataclass(frozen=True, slots=True)
class Answers:
    """What a program answered on a case.

    Attributes:
        seconds: that it took.
        outputs: none where these are known to be right.
        damaged: what it wrote to and must not.
    """

    seconds: float
    outputs: Outputs
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Expected:
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
    return found


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
    """Answers of a program that is loaded: see :func:`answers_of` and :meth:`.Device.run`."""
    runner.device.prepare(case_plan)
    for name, array in contents.items():
        runner.device.put(case_plan, name, array)
    seconds = runner.device.run(loaded, case_plan, limit, keeping=keeping)
    known = right and runner.device.agrees(case_plan, right.outputs, right.rules)
    outputs = {} if known else runner.device.outputs(case_plan)
    found = {name: np.copy(array) for name, array in outputs.items()}
    damaged = runner.device.damaged(case_plan)  # mends the inputs as well
    return Answers(seconds, found, tuple(one for one in damaged if one not in contents))
