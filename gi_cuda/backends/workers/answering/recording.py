"""Record the reference's outputs, which those of all variants are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.agreement import same_bytes
from gi_cuda.backends.protocol.device import POISON, Device, Loaded
from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.backends.protocol.requests import Record, Recorded, TrySchedule
from gi_cuda.backends.protocol.schedules import Schedule, Schedules
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.outputs import damage_of
from gi_cuda.backends.workers.cases.written import changes, is_undefined
from gi_cuda.spec import Target
from gi_cuda.spec.oracles import Judgement


@dataclass(frozen=True, slots=True)
class _Found:
    """The facts about the reference on one case; see :class:`.Recorded`.

    Attributes:
        alike: whether all its runs gave the same outputs.
    """

    alike: bool
    penalty: float
    reason: str
    damaged: tuple[str, ...]
    unwritten: dict[str, tuple[int, int]]
    undefined: tuple[str, ...]
    changed: dict[str, tuple[int, int]]
    moved: int


def record(runner: CaseRunner, request: Record) -> Recorded:
    """Run the reference in several draws, store its outputs, and judge one more run.

    If all runs on a case gave the same outputs, the result also serves for other cases with the
    same data.
    """
    loaded = runner.device.load(request.reference.binary)
    request.folder.mkdir(parents=True, exist_ok=True)
    plans = runner.plans(request.reference)
    found: dict[str, _Found] = {}
    for case_plan in plans:
        case = case_plan.case
        known = found.get(twin := runner.twin(case))
        if known is not None and known.alike and not case_plan.redrawn:
            runner.store_as(twin, case, request.folder)
            found[case] = known
        else:
            found[case] = _on_case(runner, request, loaded, case_plan)
    return Recorded(
        penalties={case: one.penalty for case, one in found.items()},
        reasons={case: one.reason for case, one in found.items()},
        damaged={case: one.damaged for case, one in found.items()},
        unwritten={case: one.unwritten for case, one in found.items()},
        undefined={case: one.undefined for case, one in found.items()},
        changed={case: one.changed for case, one in found.items()},
        threads=max(one.threads for one in plans),
        moved={case: one.moved for case, one in found.items()},
    )


def _on_case(runner: CaseRunner, request: Record, loaded: Loaded, case_plan: CasePlan) -> _Found:
    runs: list[Outputs] = []
    with runner.device.turn():
        for draw in range(request.runs):
            runner.device.prepare(case_plan)
            with _in_turn(runner.device, request.schedules, draw):
                runner.device.run(loaded, case_plan.drawn(draw), request.limit)
            outputs = runner.device.outputs(case_plan)
            if not _is_another(runner, outputs, runs):
                continue
            runs.append({name: np.copy(array) for name, array in outputs.items()})
        runner.store(case_plan.case, runs, request.folder)
        runner.device.prepare(case_plan)
        runner.device.run(loaded, case_plan, request.limit)
        names = tuple(runner.device.damaged(case_plan))
        verdict = damage_of(case_plan, names) or _own_verdict(runner, case_plan)
    outputs, before = runs[0], runner.cases[case_plan.case].buffers
    left = unwritten(runner.target, case_plan, outputs)
    changed = {
        name: (changes(array, before[name]), array.size)
        for name, array in outputs.items()
        if name in before
    }
    undefined = (n for n, array in outputs.items() if is_undefined(array, before.get(n)))
    written = {name: size - rest for name, (rest, size) in left.items()}
    written |= {name: number for name, (number, _) in changed.items()}
    return _Found(
        alike=len(runs) == 1,
        penalty=verdict.penalty,
        reason=verdict.reason,
        damaged=names,
        unwritten=left,
        undefined=tuple(undefined),
        changed=changed,
        moved=moved_once(before, outputs, written),
    )


def moved_once(inputs: Outputs, outputs: Outputs, written: Mapping[str, int]) -> int:
    """Return the bytes that launches move if they read each input once, and write each result once.

    Args:
        written: by output, the number of its elements that launches write or change.
    """
    read = sum(array.nbytes for array in inputs.values())
    return read + sum(outputs[name].itemsize * number for name, number in written.items())


def _is_another(runner: CaseRunner, outputs: Outputs, runs: Sequence[Outputs]) -> bool:
    """Tell whether to keep a run: equal runs are kept once, unless the oracle asks for several."""
    if not runs or runner.target.oracle.runs > 1:
        return True
    return not all(same_bytes(outputs[name], first) for name, first in runs[0].items())


def _own_verdict(runner: CaseRunner, case_plan: CasePlan) -> Judgement:
    """Judge the reference by its own oracle, which may reject its own expected outputs."""
    if runner.rules is not None:
        return runner.judge_answers(case_plan)  # each value is as good as itself
    return runner.opinion(case_plan, runner.device.outputs(case_plan))


def try_schedule(runner: CaseRunner, request: TrySchedule) -> bool | None:
    """Tell whether the reference is right in a thread order; None without a choice of orders.

    The oracle judges, since sums may be rounded differently.
    """
    loaded = runner.device.load(request.reference.binary)
    scheduled = runner.device.scheduled(request.schedule, request.natural)
    with runner.device.turn(), scheduled as possible:
        if not possible:
            return None
        for case_plan in runner.plans(request.reference):
            runner.device.prepare(case_plan)
            runner.device.run(loaded, case_plan, request.limit)
            if runner.judge(case_plan).penalty:
                return False
    return True


def _in_turn(device: Device, schedules: Schedules, number: int) -> AbstractContextManager[object]:
    """Return a context for the reference's run of this number, which sets its thread order."""
    turns = [None, *schedules]
    name = turns[number % len(turns)]
    return nullcontext() if name is None else device.scheduled(Schedule(name), schedules[name])


def unwritten(target: Target, case_plan: CasePlan, outputs: Outputs) -> dict[str, tuple[int, int]]:
    """Return the numbers of unwritten and of all elements of each poisoned output."""
    poisoned = {buffer.name for buffer in target.buffers if not buffer.role.given}
    return {
        name: (still_poison(array), array.size)
        for name, array in outputs.items()
        if case_plan.storage[name] in poisoned
    }


def still_poison(array: NDArray[Any]) -> int:
    """Return the number of elements that hold poison.

    Elements smaller than a word of poison count only if the whole word is poison: one alone may
    hold the same by chance.
    """
    if array.itemsize > 4:
        twice = np.uint64(POISON << 32 | POISON)
        return int(np.count_nonzero(np.ascontiguousarray(array).view(np.uint64) == twice))
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = raw[: raw.size // 4 * 4].view(np.uint32)
    return int(np.count_nonzero(words == POISON)) * (4 // array.itemsize)
