"""What programs answer with something else in the place of an input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gi_cuda.backends.protocol.requests import AgreesWith, CasePlan, DependsOn, Program
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.spec import CaseData, plan
from gi_cuda.spec.oracles import Outputs

_AT_LEAST, _LONGER = 0.5, 20
"""Seconds that a launch with something else may take, and how many times what it takes without."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """A case with something else in the place of an input.

    Attributes:
        given: how the program runs the case.
        plan: how it runs with that.
        cleared: the buffer in whose place are zeros; "" for a scalar.
        data: what the case holds then, as oracles get it.
    """

    given: CasePlan
    plan: CasePlan
    cleared: str
    data: CaseData


def depends_on(runner: CaseRunner, request: DependsOn) -> bool:
    """Whether a program's answers are other ones with something else in the place of an input."""
    for one in _changed(runner, request.program, request):
        runner.device.make_room(one.given)
        seconds, before = _answers(runner, request.program, one.given, request.limit)
        limit = min(request.limit, _AT_LEAST + _LONGER * seconds)
        _, after = _answers(runner, request.program, one.plan, limit, one.cleared)
        if any(after[name].tobytes() != array.tobytes() for name, array in before.items()):
            return True
    return False


def agrees_with(runner: CaseRunner, request: AgreesWith) -> str | None:
    """Why a program is wrong with something else in the place of an input, where the reference runs
    with that is what is right; "" where it is not. None where the oracle does not accept the
    reference's own answers then."""
    mine = _changed(runner, request.program, request)
    theirs = _changed(runner, request.reference, request)
    for one, right in zip(mine, theirs, strict=True):
        runner.device.make_room(right.given)
        seconds, _ = _answers(runner, request.reference, right.given, request.limit)
        limit = min(request.limit, _AT_LEAST + _LONGER * seconds)
        runs = [
            _answers(runner, request.reference, right.plan, limit, right.cleared)[1]
            for _ in range(1 + max(1, runner.target.oracle.runs))
        ]
        oracle, values = runner.target.oracle, right.data.values
        known = oracle.reference(runs[1:])
        if oracle.judge(values, runs[0], known).penalty:
            return None
        _, found = _answers(runner, request.program, one.plan, limit, one.cleared)
        verdict = oracle.judge(values, found, known)
        if verdict.penalty:
            return f"{one.plan.case}: {verdict.reason}"
    return ""


def _changed(
    runner: CaseRunner, program: Program, request: DependsOn | AgreesWith
) -> Iterator[_Changed]:
    """The cases of a program with something else in the place of an input."""
    name = request.input
    for given in runner.plans(program):
        data = runner.cases[given.case]
        if name in data.buffers:
            zeros = np.zeros_like(data.buffers[name])
            yield _Changed(given, given, name, replace(data, buffers={**data.buffers, name: zeros}))
            continue
        changes = {name: request.instead.of}
        launches = plan(runner.target, program.configuration, data.scalars, changes)
        scalars = dict(data.scalars)
        if name in scalars:
            scalars[name] = request.instead.of(scalars[name])
        yield _Changed(given, replace(given, launches=launches), "", replace(data, scalars=scalars))


def _answers(
    runner: CaseRunner, program: Program, case_plan: CasePlan, limit: float, cleared: str = ""
) -> tuple[float, Outputs]:
    """How long a program takes on a case, with zeros in one buffer or in none, and its answers."""
    with runner.device.turn():
        loaded = runner.device.load(program.binary)
        runner.device.prepare(case_plan)
        if cleared:
            runner.device.clear(case_plan, cleared)
        seconds = runner.device.run(loaded, case_plan, limit)
        found = {name: np.copy(one) for name, one in runner.device.outputs(case_plan).items()}
        runner.device.damaged(case_plan)  # mends the input
        runner.device.unload(loaded)
    return seconds, found
