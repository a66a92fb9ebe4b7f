"""The reference's answers, which all others are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.agreement import same_bytes
from gi_cuda.backends.protocol.device import POISON, Device
from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.backends.protocol.requests import Record, Recorded, TrySchedule
from gi_cuda.backends.protocol.schedules import Schedule, Schedules
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.outputs import damage_of
from gi_cuda.backends.workers.written import changes, is_undefined
from gi_cuda.spec import Target
from gi_cuda.spec.oracles import Judgement


def record(runner: CaseRunner, request: Record) -> Recorded:
    """Run the reference in several draws, store its outputs, and hold one more run, in the first
    draw, against its own oracle."""
    loaded = runner.device.load(request.reference.binary)
    request.folder.mkdir(parents=True, exist_ok=True)
    penalties: dict[str, float] = {}
    reasons: dict[str, str] = {}
    damaged: dict[str, tuple[str, ...]] = {}
    left: dict[str, dict[str, tuple[int, int]]] = {}
    undefined: dict[str, tuple[str, ...]] = {}
    changed: dict[str, dict[str, tuple[int, int]]] = {}
    moved: dict[str, int] = {}
    plans = runner.plans(request.reference)
    for case_plan in plans:
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
            names = runner.device.damaged(case_plan)
            verdict = damage_of(case_plan, names) or _own_verdict(runner, case_plan)
            outputs = runs[0]
            left[case_plan.case] = unwritten(runner.target, case_plan, outputs)
            before = runner.cases[case_plan.case].buffers
            changed[case_plan.case] = {
                name: (changes(array, before[name]), array.size)
                for name, array in outputs.items()
                if name in before
            }
            undefined[case_plan.case] = tuple(
                name for name, array in outputs.items() if is_undefined(array, before.get(name))
            )
            written = {name: size - rest for name, (rest, size) in left[case_plan.case].items()}
            written |= {name: number for name, (number, _) in changed[case_plan.case].items()}
            moved[case_plan.case] = least_moved(before, outputs, written)
        damaged[case_plan.case] = tuple(names)
        penalties[case_plan.case], reasons[case_plan.case] = verdict.penalty, verdict.reason
    threads = max(one.threads for one in plans)
    return Recorded(penalties, reasons, damaged, left, undefined, changed, threads, moved)


def least_moved(inputs: Outputs, outputs: Outputs, written: Mapping[str, int]) -> int:
    """Return the bytes that launches move if they read each input once, and write once what they
    write.

    Args:
        written: by output the number of its elements that launches write or change.
    """
    read = sum(array.nbytes for array in inputs.values())
    return read + sum(outputs[name].itemsize * number for name, number in written.items())


def _is_another(runner: CaseRunner, outputs: Outputs, runs: Sequence[Outputs]) -> bool:
    """Tell whether a run is to be kept: of those that gave the same one is enough, unless the
    oracle asks for several."""
    if not runs or runner.target.oracle.runs > 1:
        return True
    return not all(same_bytes(outputs[name], first) for name, first in runs[0].items())


def _own_verdict(runner: CaseRunner, case_plan: CasePlan) -> Judgement:
    """Judge the reference by its own oracle, which may reject the very answers it compares with."""
    if runner.rules is not None:
        return runner.judge_answers(case_plan)  # each value is as good as itself
    return runner.opinion(case_plan, runner.device.outputs(case_plan))


def try_schedule(runner: CaseRunner, request: TrySchedule) -> bool | None:
    """Tell whether the reference's answers are right under a schedule: the oracle judges, as sums
    may be rounded otherwise."""
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
    """The order of the reference's run of this number."""
    turns = [None, *schedules]
    name = turns[number % len(turns)]
    return nullcontext() if name is None else device.scheduled(Schedule(name), schedules[name])


def unwritten(target: Target, case_plan: CasePlan, outputs: Outputs) -> dict[str, tuple[int, int]]:
    """How many elements of each output still hold what was there before the launches."""
    poisoned = {buffer.name for buffer in target.buffers if not buffer.role.given}
    return {
        name: (still_poison(array), array.size)
        for name, array in outputs.items()
        if case_plan.storage[name] in poisoned
    }


def still_poison(array: NDArray[Any]) -> int:
    """How many elements hold poison. Of elements that are smaller than its word, those that share
    one with others: by itself, such an element may hold the same by chance."""
    if array.itemsize > 4:
        twice = np.uint64(POISON << 32 | POISON)
        return int(np.count_nonzero(np.ascontiguousarray(array).view(np.uint64) == twice))
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = raw[: raw.size // 4 * 4].view(np.uint32)
    return int(np.count_nonzero(words == POISON)) * (4 // array.itemsize)
