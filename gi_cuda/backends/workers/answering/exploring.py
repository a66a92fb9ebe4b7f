"""Run the reference under observation: for proposed targets, and to set limits on loops."""

from __future__ import annotations

import numpy as np

from gi_cuda.backends.protocol.requests import CountLoops, Explore, Explored, LoopCounts
from gi_cuda.backends.workers.answering.recording import still_poison
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.other_cases import changed, launched, smallest
from gi_cuda.backends.workers.cases.written import is_undefined, magnitudes, only_value


def explore(runner: CaseRunner, request: Explore) -> Explored:
    """Run the reference twice on a case with memory around all buffers, and report on it."""
    device, target = runner.device, runner.target
    (plan,) = runner.plans(request.reference)
    loaded = device.load(request.reference.binary)

    def run() -> tuple[float, frozenset[str]]:
        device.prepare(plan)
        return device.run(loaded, plan, request.limit), frozenset(device.damaged(plan))

    with device.turn(), device.giving() as beyond:
        seconds, changed = run()
        first = {name: np.copy(array) for name, array in device.outputs(plan).items()}
        again, damaged = run()
        second = device.outputs(plan)
        varying = frozenset(name for name, array in first.items() if _differ(array, second[name]))
        found = beyond()
    case = runner.cases[plan.case].buffers
    poisoned = {buffer.name for buffer in target.buffers if not buffer.role.given}
    changed |= damaged
    return Explored(
        seconds=min(seconds, again),
        beyond=found,
        changed=changed | {n for n, a in first.items() if n in case and _differ(a, case[n])},
        unwritten=frozenset(
            name
            for name, array in first.items()
            if plan.storage[name] in poisoned and still_poison(array) == array.size
        ),
        varying=varying,
        undefined=frozenset(
            name for name, array in first.items() if is_undefined(array, case.get(name))
        ),
        only=only_value(first, case),
        magnitudes=magnitudes(first, case),
    )


def count_loops(runner: CaseRunner, request: CountLoops) -> LoopCounts:
    """Run an instrumented variant on its cases, or on the smallest case with a substitute.

    Returns:
        The largest number of iterations of each loop.
    """
    program, limit = request.program, request.limit
    loaded = runner.device.load(program.binary)
    with runner.device.turn(), runner.device.counting(loaded, request.loops) as counts:
        if request.other is None:
            plans = {runner.twin(one.case): one for one in runner.plans(program)}
            for case_plan in plans.values():
                runner.device.prepare(case_plan)
                runner.device.run(loaded, case_plan, limit)
        else:
            mine, _ = smallest(runner, program, program)
            if one := changed(runner, program, request.other, mine):
                runner.device.make_room(one.given)
                launched(runner, loaded, one.plan, limit, one.contents)
        return LoopCounts(tuple(counts()))


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.array_equal(one.view(np.uint8), other.view(np.uint8))
