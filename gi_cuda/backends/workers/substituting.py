"""What programs answer with something else in the place of an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.programs import CasePlan, Program
from gi_cuda.backends.protocol.requests import AgreesWith, DependsOn
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.room import memory
from gi_cuda.spec import CaseData, plan
from gi_cuda.spec.oracles import Allowed, Outputs, Rules, ValueRule

_AT_LEAST, _LONGER = 0.5, 20
"""Seconds that a launch with something else may take, and how many times what it takes without."""

_WIDER = 10.0
"""How many times its tolerance an oracle allows with something else. The tolerance was chosen for
the case's own numbers; a long sum of which a few terms are most depends more on the order of
additions."""

_KEPT, _SHARE = 64 * 2**20, 64
"""Bytes of the reference's answers that are remembered at least, and the part of all memory that
they may take."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """A case with something else in the place of an input.

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
        one = _changed(runner, request.program, request, given)
        runner.device.make_room(one.given)
        before = _answers(runner, request.program, one.given, request.limit)
        limit = min(request.limit, _AT_LEAST + _LONGER * before.seconds)
        same = _Right(before.outputs, None)
        if _answers(runner, request.program, one.plan, limit, one.contents, same).outputs:
            return True
    return False


def agrees_with(runner: CaseRunner, request: AgreesWith) -> str | None:
    """Why a program is wrong with something else in the place of an input, where the reference runs
    with that is what is right; "" where it is not. None where the reference writes where it must
    not then, the oracle does not accept its own answers, or with another size they are no numbers
    where they were, or depend on the order of threads as they did not."""
    mine, theirs = runner.plans(request.program), runner.plans(request.reference)
    # One case tells as much as several, as what is in the place of an input is the same.
    at = min(range(len(theirs)), key=lambda case: sum(theirs[case].sizes.values()))
    one = _changed(runner, request.program, request, mine[at])
    right = _changed(runner, request.reference, request, theirs[at])
    runner.device.make_room(right.given)
    expected = _expected(runner, request, right)
    if expected is None:
        return None
    overflow = request.substitute.to_overflow
    known = _Right(expected.runs[0].outputs, _finite(runner) if overflow else _near(runner))
    found = _answers(runner, request.program, one.plan, expected.limit, one.contents, known)
    if overflow:
        wrong = _why_overflown(found, expected.runs[0])
    else:
        wrong = _why_wrong(runner, right, found, expected.runs)
    return f"{one.plan.case}: {wrong}" if wrong else ""


def _near(runner: CaseRunner) -> Rules | None:
    """Rules for answers beside the reference's with something else; None where the oracle has to
    be asked."""
    return runner.target.oracle.wider(_WIDER).rules(runner.types)


def _finite(runner: CaseRunner) -> Rules:
    """Rules by which all but an overflow is good."""
    return {
        name: (ValueRule(Allowed.FINITE, kind),) if kind.dtype.kind == "f" else ()
        for name, kind in runner.types.items()
    }


def _expected(runner: CaseRunner, request: AgreesWith, right: _Changed) -> _Expected | None:
    """The reference's answers, or None as :func:`agrees_with` says; remembered, since many variants
    are held against them."""
    reference = request.reference
    values = tuple(reference.configuration.items())
    key = reference.binary.path, values, right.plan.case, request.input, request.substitute
    if key not in runner.expected:
        known = [run for one in runner.expected.values() if one for run in one.runs]
        size = sum(array.nbytes for run in known for array in run.outputs.values())
        if size > max(_KEPT, memory() // _SHARE):
            runner.expected.clear()
        runner.expected[key] = _fit(runner, request, right)
    found: _Expected | None = runner.expected[key]
    return found


def _fit(runner: CaseRunner, request: AgreesWith, right: _Changed) -> _Expected | None:
    """The reference's answers, where they are fit to compare with."""
    given = _answers(runner, request.reference, right.given, request.limit)
    limit = min(request.limit, _AT_LEAST + _LONGER * given.seconds)
    runs = [
        _answers(runner, request.reference, right.plan, limit, right.contents)
        for _ in range(runner.target.oracle.runs)
    ]
    known = _Right(runs[0].outputs, _near(runner))
    again = _answers(runner, request.reference, right.plan, limit, right.contents, known)
    if _why_wrong(runner, right, again, runs) or _unjudged(runner, right, runs):
        return None
    whole = {one.name for one in runner.target.scalars if one.dtype.kind != "f"}
    if request.input in whole and _is_lost(given, runs[0]):
        return None  # a source that is made for some sizes reads what nothing has set
    if request.input in whole and _is_ordered(runner, request.reference, right, given, runs):
        return None  # and with others its threads write where others do
    return _Expected(limit, tuple(runs))


def _why_overflown(found: _Answers, right: _Answers) -> str:
    """Where answers are infinite or no numbers, and the reference's are not; "" if nowhere."""
    for name, array in found.outputs.items():
        if array.dtype.kind == "f":
            lost = np.flatnonzero(np.isfinite(right.outputs[name]) & ~np.isfinite(array))
            if lost.size:
                at = lost[0]
                return f"{name}[{at}] is {array[at]}, expected {right.outputs[name][at]}"
    return ""


def _is_lost(given: _Answers, found: _Answers) -> bool:
    """Whether answers are no numbers that were."""
    return any(
        bool(np.any(np.isnan(array) & ~np.isnan(given.outputs[name])))
        for name, array in found.outputs.items()
        if array.dtype.kind == "f"
    )


def _is_ordered(
    runner: CaseRunner,
    reference: Program,
    case: _Changed,
    given: _Answers,
    runs: Sequence[_Answers],
) -> bool:
    """Whether the reference's answers are wrong in the opposite order of threads, where the device
    has a choice, and are not so with what the case gives."""
    limit = _AT_LEAST + 2 * _LONGER * given.seconds
    with runner.device.scheduled(Schedule.REVERSED, ()) as chosen:
        if not chosen:
            return False
        known = _Right(runs[0].outputs, _near(runner))
        turned = _answers(runner, reference, case.plan, limit, case.contents, known)
        if not _why_wrong(runner, case, turned, runs):
            return False
        whole = _Changed(case.given, case.given, {}, runner.cases[case.given.case])
        known = _Right(given.outputs, _near(runner))
        turned = _answers(runner, reference, case.given, limit, right=known)
        return not _why_wrong(runner, whole, turned, [given])


def _unjudged(runner: CaseRunner, case: _Changed, runs: Sequence[_Answers]) -> bool:
    """Whether the oracle does not accept the very answers that it compares with: it may have been
    written for what the case holds alone."""
    if runner.rules is not None:
        return False  # whatever the values are, each is as good as itself
    oracle = runner.target.oracle
    expected = oracle.reference([run.outputs for run in runs])
    return not oracle.judge(case.data.values, runs[0].outputs, expected).acceptable


def _why_wrong(
    runner: CaseRunner, case: _Changed, found: _Answers, runs: Sequence[_Answers]
) -> str:
    """What is wrong with answers beside those of the reference's runs; "" where nothing is."""
    if found.damaged:
        return f"wrote where it must not: {', '.join(found.damaged)}"
    if not found.outputs:
        return ""
    oracle = runner.target.oracle.wider(_WIDER)
    verdict = oracle.judge(
        case.data.values, found.outputs, oracle.reference([run.outputs for run in runs])
    )
    return "" if verdict.acceptable else verdict.reason or "its answers are not acceptable"


def _changed(
    runner: CaseRunner, program: Program, request: DependsOn | AgreesWith, given: CasePlan
) -> _Changed:
    """A case of a program with something else in the place of an input."""
    name, data = request.input, runner.cases[given.case]
    if name in data.buffers:
        contents = {name: request.substitute.contents(data.buffers[name])}
        return _Changed(given, given, contents, replace(data, buffers={**data.buffers, **contents}))
    changes = {name: request.substitute.of}
    launches = plan(program.launched(runner.target), program.configuration, data.scalars, changes)
    scalars = dict(data.scalars)
    if name in scalars:
        scalars[name] = request.substitute.of(scalars[name])
    return _Changed(given, replace(given, launches=launches), {}, replace(data, scalars=scalars))


@dataclass(frozen=True, slots=True)
class _Answers:
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
    """

    limit: float
    runs: tuple[_Answers, ...]


@dataclass(frozen=True, slots=True)
class _Right:
    """Answers that are known to be right, and what is as good: see :class:`TimedRun`."""

    outputs: Outputs
    rules: Rules | None


def _answers(
    runner: CaseRunner,
    program: Program,
    case_plan: CasePlan,
    limit: float,
    contents: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    right: _Right | None = None,
) -> _Answers:
    """Answers of a program on a case, where some buffers hold something else.

    Args:
        right: what need not be told.
    """
    with runner.device.turn():
        loaded = runner.device.load(program.binary)
        runner.device.prepare(case_plan)
        for name, array in contents.items():
            runner.device.put(case_plan, name, array)
        seconds = runner.device.run(loaded, case_plan, limit)
        known = right and runner.device.agrees(case_plan, right.outputs, right.rules)
        outputs = {} if known else runner.device.outputs(case_plan)
        found = {name: np.copy(array) for name, array in outputs.items()}
        damaged = runner.device.damaged(case_plan)  # mends the inputs as well
        runner.device.unload(loaded)
    return _Answers(seconds, found, tuple(one for one in damaged if one not in contents))
