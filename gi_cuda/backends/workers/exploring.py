"""What the reference does where nothing stops it: for those who propose a target for it."""

from __future__ import annotations

import numpy as np

from gi_cuda.backends.protocol.requests import Explore, Explored
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.recording import is_undefined, still_poison
from gi_cuda.backends.workers.written import magnitudes, only_value


def explore(runner: CaseRunner, request: Explore) -> Explored:
    """Run the reference twice on a case, with memory around all buffers."""
    device, target = runner.device, runner.target
    (plan,) = runner.plans(request.reference)
    loaded = device.load(request.reference.binary)
    outputs, seconds, changed = [], [], frozenset[str]()
    with device.turn(), device.giving() as beyond:
        for _ in range(2):
            device.prepare(plan)
            seconds.append(device.run(loaded, plan, request.limit))
            outputs.append({name: np.copy(a) for name, a in device.outputs(plan).items()})
            changed |= frozenset(device.damaged(plan))
        found = beyond()
    case = runner.cases[plan.case].buffers
    poisoned = {buffer.name for buffer in target.buffers if not buffer.role.given}
    first, second = outputs
    return Explored(
        seconds=min(seconds),
        beyond=found,
        changed=changed | {n for n, a in first.items() if n in case and _differ(a, case[n])},
        unwritten=frozenset(
            name
            for name, array in first.items()
            if plan.storage[name] in poisoned and still_poison(array) == array.size
        ),
        varying=frozenset(name for name, array in first.items() if _differ(array, second[name])),
        undefined=frozenset(
            name for name, array in first.items() if is_undefined(array, case.get(name))
        ),
        only=only_value(first, case),
        magnitudes=magnitudes(first, case),
    )


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.array_equal(one.view(np.uint8), other.view(np.uint8))
