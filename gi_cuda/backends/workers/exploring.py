"""What the reference does where nothing stops it: for those who propose a target for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import Explore, Explored
from gi_cuda.backends.workers.case_runner import CaseRunner, is_undefined, still_poison

_SOME = 8
"""Items of which one expects that they are not all the same."""


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
        alike=_alike([_written(array, case.get(name)) for name, array in first.items()]),
    )


def _written(array: NDArray[Any], before: NDArray[Any] | None) -> NDArray[np.uint8]:
    """The items that were written, as bytes.

    Args:
        before: what was there; None for poison.
    """
    items: NDArray[np.uint8] = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    if before is None:
        words = np.full(-(-items.size // 4), POISON, dtype=np.uint32)
        old = words.view(np.uint8)[: items.size].reshape(items.shape)
    else:
        old = np.ascontiguousarray(before).view(np.uint8).reshape(items.shape)
    changed: NDArray[np.bool_] = (items != old).any(axis=1)
    return items[changed]


def _alike(written: Sequence[NDArray[np.uint8]]) -> bool:
    """Whether there are some items, and in each array all are the same."""
    many = sum(map(len, written)) >= _SOME
    return many and all(bool((items == items[0]).all()) for items in written if len(items))


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return not np.array_equal(one.view(np.uint8), other.view(np.uint8))
