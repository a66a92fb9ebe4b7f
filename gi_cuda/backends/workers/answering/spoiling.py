"""Find errors that the oracle does not notice.

The reference runs with something left out, or its outputs are spoiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.backends.protocol.requests import LeaveOut, SpoilOutputs, Spoilt, Unseen
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.written import were_written
from gi_cuda.spec import Buffer, BufferRole
from gi_cuda.spec.oracles import Outputs, Reference

Array = NDArray[Any]

MOST_PARTS = 16
"""The most sections into which launches are cut to poison a buffer in between."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an output's values.

    Attributes:
        words: its description.
        share: its fraction of all values.
        together: whether it is the end of the output; else it is spread over the output.
    """

    words: str
    share: float
    together: bool = False

    def of(self, size: int) -> slice:
        """Return the part's indices in an output of ``size`` values."""
        if self.together:
            return slice(size - max(1, round(self.share * size)), None)
        step = round(1 / self.share)
        return slice(min(step // 2, size - 1), None, step)


_ALL = _Part("all its", 1)
_SPREAD = (
    _Part("one in 64 of its", 1 / 64),
    _Part("one in eight of its", 1 / 8),
    _Part("half of its", 1 / 2),
)
_LAST = (
    _Part("the last 64th of its", 1 / 64, together=True),
    _Part("the last eighth of its", 1 / 8, together=True),
    _Part("the last half of its", 1 / 2, together=True),
)

FAR_OFF = "far off"

_SLABS, _SLAB = 16, 1 << 20
"""_SLABS: number of sections of a large output that are checked. _SLAB: bytes of a section."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The reference's outputs on a case; of large ones, sections spread over the output.

    Attributes:
        reference: the outputs prepared for judging.
        units: bytes of an item of each output; items are never cut.
    """

    reference: Reference
    units: Mapping[str, int]

    @property
    def outputs(self) -> Outputs:
        """The outputs."""
        return self.reference.outputs


def _known(runner: CaseRunner, case: str) -> _Known:
    """Return the outputs on a case: whole outputs, unless each value is judged by itself."""
    stored, rules = runner.stored(case), runner.rules
    if rules is None:
        return _Known(stored, {})
    units = {
        name: lcm(array.itemsize, *(one.item or array.itemsize for one in rules[name]))
        for name, array in stored.outputs.items()
    }
    some = {name: _some(array, units[name]) for name, array in stored.outputs.items()}
    if all(some[name] is array for name, array in stored.outputs.items()):
        return _Known(stored, {})
    return _Known(runner.target.oracle.reference([some]), units)


def _some(array: Array, unit: int) -> Array:
    """Return sections spread over an array, or all of a small one.

    Args:
        unit: bytes of an item.
    """
    each = _SLAB // unit * unit // array.itemsize
    if not each or array.size <= _SLABS * each:
        return array
    items = array.nbytes // unit
    step = unit // array.itemsize
    last = items - each // step
    begins = [round(i * last / (_SLABS - 1)) * step for i in range(_SLABS)]
    return np.concatenate([array[begin : begin + each] for begin in begins])


def leave_out(runner: CaseRunner, request: LeaveOut) -> bool:
    """Tell whether the oracle notices on some case that something was left out."""
    for case_plan in runner.plans(request.reference):
        with runner.device.turn():
            runner.device.prepare(case_plan)
            if request.input:
                given = runner.cases[case_plan.case].buffers[request.input]
                runner.device.put(case_plan, request.input, np.zeros_like(given))
            for number, part in enumerate(_parts(case_plan, request)):
                if number:
                    runner.device.poison(case_plan, request.contents)
                # Load it anew: a loaded program keeps the launches that it was bound to.
                loaded = runner.device.load(request.reference.binary)
                runner.device.run(loaded, part, request.limit)
                runner.device.unload(loaded)
            if _is_seen(runner, case_plan, request):
                return True
    return False


def _is_seen(runner: CaseRunner, case_plan: CasePlan, request: LeaveOut) -> bool:
    """Tell whether the outputs of the launches that just ran are wrong."""
    if not request.input:
        return bool(runner.judge(case_plan).penalty)
    seen = runner.judge_answers(case_plan)
    runner.device.damaged(case_plan)  # mends the input
    return bool(seen.penalty)


def _parts(case_plan: CasePlan, request: LeaveOut) -> Iterator[CasePlan]:
    """Split the launches into runs of one kernel each: between two runs, the buffer that the
    request names is overwritten. Yield one plan per run.
    """
    kept = [one for one in case_plan.launches if one.kernel != request.launches]
    if not request.contents:
        yield replace(case_plan, launches=tuple(kept))
        return
    runs = [list(several) for _, several in groupby(kept, lambda one: one.kernel)]
    for run in runs[: MOST_PARTS - 1]:
        yield replace(case_plan, launches=tuple(run))
    if rest := [one for run in runs[MOST_PARTS - 1 :] for one in run]:
        yield replace(case_plan, launches=tuple(rest))


def spoil_outputs(runner: CaseRunner, request: SpoilOutputs) -> Spoilt:
    """Judge recorded outputs with values replaced, buffer by buffer."""
    unseen: list[Unseen] = []
    constant: dict[str, str] = {}
    undefined: dict[str, dict[str, int]] = {}
    known = {case: _known(runner, case) for case in request.cases}
    for buffer in runner.target.buffers:
        if not buffer.role.judged:
            continue
        rights = {case: runner.stored(case).outputs[buffer.name] for case in request.cases}
        unseen += _unseen(runner, buffer, known)
        if (value := _only_value(rights)) is not None:
            constant[buffer.name] = str(value)
        nans = {case: _written_nans(buffer, right) for case, right in rights.items()}
        if any(nans.values()):
            undefined[buffer.name] = {case: count for case, count in nans.items() if count}
    return Spoilt(tuple(unseen), constant, undefined)


def _unseen(runner: CaseRunner, buffer: Buffer, known: Mapping[str, _Known]) -> list[Unseen]:
    """Return for each filling the largest part of a buffer that the oracle accepts, if any."""
    fillings: dict[str, dict[str, Array]] = {}
    for case, one in known.items():
        for words, values in _fillings(runner, buffer, case, one):
            fillings.setdefault(words, {})[case] = values
    found = []
    for words, wrongs in fillings.items():
        if len(wrongs) < len(known):
            continue
        part = _largest_part(runner, buffer.name, known, wrongs)
        if part is not None:
            found.append(Unseen(buffer.name, words, part.words, part.share))
        if words == FAR_OFF and part is _ALL:
            break
    return sorted(found, key=lambda one: -one.share)


def _largest_part(
    runner: CaseRunner, name: str, known: Mapping[str, _Known], wrongs: Mapping[str, Array]
) -> _Part | None:
    """Return the largest part of the values that may be wrong; None if none may.

    If the oracle notices a small part, it is assumed to notice larger ones.
    """
    if _accepted(runner, name, known, wrongs, _ALL):
        return _ALL
    largest = None
    for parts in (_SPREAD, _LAST):
        for part in parts:
            if not _accepted(runner, name, known, wrongs, part):
                break
            if largest is None or part.share > largest.share:
                largest = part
    return largest


def _accepted(
    runner: CaseRunner,
    name: str,
    known: Mapping[str, _Known],
    wrongs: Mapping[str, Array],
    part: _Part,
) -> bool:
    """Tell whether the oracle accepts replaced values on all cases; some must differ."""
    changed = False
    for case, one in known.items():
        right = one.outputs[name]
        at = part.of(right.size)
        if right[at].tobytes() == wrongs[case][at].tobytes():
            continue
        changed = True
        spoilt = right.copy()
        spoilt[at] = wrongs[case][at]
        outputs = {**one.outputs, name: spoilt}
        if runner.target.oracle.penalty(runner.cases[case].values, outputs, one.reference):
            return False
    return changed


def _fillings(
    runner: CaseRunner, buffer: Buffer, case: str, known: _Known
) -> Iterator[tuple[str, Array]]:
    """Yield values that may replace the right ones, with their descriptions."""
    right, size = known.outputs[buffer.name], runner.stored(case).outputs[buffer.name].size
    yield FAR_OFF, _far_off(right)
    unit = known.units.get(buffer.name)
    given = {
        name: array if unit is None else _some(array, unit)
        for name, array in runner.cases[case].buffers.items()
        if array.size == size
    }
    if buffer.role is BufferRole.INOUT:
        yield "as before the launch", given[buffer.name]
    else:
        poison = np.full(-(-right.nbytes // 4), POISON, np.uint32).view(np.uint8)
        yield "never written", poison[: right.nbytes].view(right.dtype)
    yield "zero", np.zeros_like(right)
    for other in runner.target.buffers:
        same = other.role is BufferRole.INPUT and other.dtype == right.dtype
        if same and other.name in given:
            yield f"those of the input {other.name}", given[other.name]
    if right.dtype.kind == "f" and np.isfinite(right).any():
        mean = right[np.isfinite(right)].mean(dtype=np.float64)
        yield "their mean", np.full_like(right, mean)


def _far_off(right: Array) -> Array:
    """Return values none of which could be taken for the right ones."""
    if right.dtype.kind != "f":
        return ~right
    most = np.abs(right).max(initial=0.0, where=np.isfinite(right))
    far = min(1000.0 + 1000.0 * float(most), float(np.finfo(right.dtype).max) / 4)
    found: Array = np.copysign(right.dtype.type(far), -right)
    return found


def _only_value(rights: Mapping[str, Array]) -> object | None:
    """Return the value that arrays hold everywhere, if it is no NaN.

    None if they hold different values, or there is only one value in all.
    """
    first = next(iter(rights.values()))[0]
    if sum(right.size for right in rights.values()) < 2:
        return None
    return first if all((right == first).all() for right in rights.values()) else None


def _written_nans(buffer: Buffer, right: Array) -> int:
    """Return the number of NaN, without those in memory that was never written."""
    if right.dtype.kind != "f":
        return 0
    nans = np.isnan(right).reshape(-1)
    # A buffer with the case's contents is never poisoned.
    written = nans if buffer.role is BufferRole.INOUT else nans & were_written(right, None)
    return int(np.count_nonzero(written))
