"""Verify variants on a worker's device: cases, the reference's outputs, the oracle."""

from __future__ import annotations

import shutil
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device import (
    Device,
    LaunchRefused,
    Loaded,
    Timed,
    TimedRun,
    Verified,
)
from gi_cuda.backends.protocol.programs import CasePlan, Outputs, Program
from gi_cuda.backends.protocol.variants import folders
from gi_cuda.backends.workers.cases.memory_check import check_room
from gi_cuda.backends.workers.cases.outputs import bytes_of, damage_of, digest_of
from gi_cuda.backends.workers.cases.pace import SLOW, Pace, pace
from gi_cuda.backends.workers.cases.prepared import UNREADABLE, is_mapped, load, save
from gi_cuda.backends.workers.cases.same_data import is_same_data
from gi_cuda.results.measurement import LOADS
from gi_cuda.spec import (
    Case,
    CaseData,
    Judgement,
    LaunchError,
    Reference,
    Target,
    buffer_begins,
    buffer_sizes,
    final_storage,
    load_case,
    plan,
)
from gi_cuda.spec.numbers import in_memory
from gi_cuda.spec.oracles import Python

_PREPARED = ".prepared"
_STORED = (".npz", _PREPARED)


_OPINIONS = 1000
"""Number of the oracle's judgements that are cached."""

_KEPT = 64 * 2**20
"""Bytes of acceptable outputs that are cached."""


@dataclass(slots=True)
class _CaseHistory:
    """Numbers of variants that were verified on one case, and that were wrong there."""

    looks: int = 0
    wrong: int = 0


class CaseRunner:
    """A device with the cases and the oracle that its variants are verified with.

    Args:
        device: the device that variants run on.
        target: the target.
        cases: its cases by name, which the device uses as well. Cases that are made later are
            added.
        folder: folder with the reference's recorded outputs.
    """

    def __init__(
        self, device: Device, target: Target, cases: dict[str, CaseData], folder: Path
    ) -> None:
        self.device = device
        self.target = target
        self.cases = cases
        self._folder = folder
        self._untimed = frozenset(case.name for case in target.cases if not case.timed)
        types = {one.name: one.type for one in target.buffers if one.role.judged}
        self.types, self.rules = types, target.oracle.rules(types)
        self._stored: dict[tuple[str, int], Reference] = {}
        self._stacks: dict[str, dict[str, NDArray[Any]]] = {}
        self._recorded: dict[tuple[str, int], Outputs] = {}
        self._plans: dict[Hashable, CasePlan] = {}
        self._reference: tuple[Program, tuple[Loaded, ...]] | None = None
        self._paces: tuple[Pace, ...] = ()
        self._opinions: OrderedDict[tuple[str, int, int | None, bytes], Judgement] = OrderedDict()
        self._kept: OrderedDict[tuple[str, bytes], Outputs] = OrderedDict()
        self._histories: dict[str, _CaseHistory] = {}
        self.expected: dict[object, Any] = {}  # see :func:`.substituting.agrees_with`
        self.given: dict[object, Any] = {}  # the same for one case with its own inputs
        self.contents: dict[object, NDArray[Any]] = {}  # see :func:`.other_cases.substituted`

    def stored(self, case: str, draw: int = 0) -> Reference:
        """Return the reference's recorded runs on a case, prepared for judging one draw."""
        if (case, draw) not in self._stored:
            self._stored[case, draw] = self._read(case, draw)
        return self._stored[case, draw]

    def recorded(self, case: str, draw: int = 0) -> Outputs:
        """Return the first of these runs in memory layout; always the same arrays."""
        if (case, draw) not in self._recorded:
            self._recorded[case, draw] = {
                name: in_memory(array, self.types[name])
                for name, array in self.stored(case, draw).outputs.items()
            }
        return self._recorded[case, draw]

    def _read(self, case: str, draw: int) -> Reference:
        # A file of another version may be unreadable; the arrays hold the same data.
        with suppress(*UNREADABLE):
            if draw == 0:
                return load(self._folder / f"{case}{_PREPARED}")
        arrays = self._stacks.get(case) or self._recorded_runs(case)
        count = len(next(iter(arrays.values())))
        runs = [{name: stack[i] for name, stack in arrays.items()} for i in range(count)]
        # The draw's own run comes first: it is the one to compare with, if only one is used.
        runs = runs[draw % count :] + runs[: draw % count]
        return self.target.oracle.reference(runs)

    def _recorded_runs(self, case: str) -> dict[str, NDArray[Any]]:
        with np.load(self._folder / f"{case}.npz") as stacks:
            return dict(stacks)

    def store(self, case: str, runs: Sequence[Outputs], folder: Path) -> None:
        """Store outputs of the reference's runs, and what the oracle prepares of them."""
        first, *others = runs
        _forget(case, folder)
        stacks = {
            name: np.stack([run[name] for run in runs]) if others else array[np.newaxis]
            for name, array in first.items()
        }
        np.savez(folder / f"{case}.npz", **stacks)  # type: ignore[arg-type]
        with suppress(TypeError):  # on failure, each worker prepares them anew
            save(folder / f"{case}{_PREPARED}", self.target.oracle.reference(runs))

    def store_as(self, case: str, other: str, folder: Path) -> None:
        """Store a case's recorded outputs for another case with the same data."""
        _forget(other, folder)
        for ending in _STORED:
            made, there = folder / f"{other}{ending}", folder / f"{case}{ending}"
            try:
                made.hardlink_to(there)
            except FileNotFoundError:  # it was not prepared
                continue
            except OSError:  # the file system has no links
                shutil.copyfile(there, made)

    def twin(self, case: str) -> str:
        """Return the first case with the same data, which may be the case itself.

        Train and held-out cases are the same if an application makes only one launch.
        """
        mine = self.cases[case]
        return next(
            name for name, one in self.cases.items() if one is mine or is_same_data(one, mine)
        )

    def made(self, case: Case) -> CaseData:
        """Return the data of a case, which need not be one of the target's. The data is made once.

        Raises:
            UserError: the data module fails, or the contents are not as declared.
        """
        if case.name not in self.cases:
            self.cases[case.name] = load_case(self.target, case)
        return self.cases[case.name]

    def isolate(self, programs: Iterable[Program]) -> None:
        """Isolate this process, which will run untrusted programs, and hide expected outputs."""
        for case in self.cases:
            with suppress(*UNREADABLE):  # the reference may not have run yet
                self.recorded(case)
                self._stacks[case] = self._recorded_runs(case)
        kept = (one for case in self._stored.values() for one in case.outputs.values())
        secret = [array for array in kept if is_mapped(array)]
        checks = self.target.oracle.checks
        own = [one.file.parent for one in checks if isinstance(one, Python)]
        self.device.isolate([*folders(one.binary for one in programs), *own], secret)

    def plans(self, program: Program) -> list[CasePlan]:
        """Return the plans by which a program's configuration runs each of its cases.

        Raises:
            LaunchRefused: an expression has no value, or gives a geometry that CUDA forbids.
        """
        values = tuple(program.configuration.items())  # names belong to the key, too
        plans = []
        for name in program.cases:
            key = (name, values, program.own)
            if key not in self._plans:
                self._plans[key] = self._plan(name, program)
            plans.append(self._plans[key])
        return plans

    def timed_plans(self, program: Program) -> list[CasePlan]:
        """Return the plans of the cases that are timed.

        Raises:
            LaunchRefused: see :meth:`plans`.
        """
        return [one for one in self.plans(program) if one.case not in self._untimed]

    def plans_to_verify(self, program: Program) -> list[CasePlan]:
        """Return the plans, first those that find most wrong variants for the least work.

        Raises:
            LaunchRefused: see :meth:`plans`.
        """
        return sorted(self.plans(program), key=self._gain, reverse=True)

    def _gain(self, case_plan: CasePlan) -> float:
        """Return the expected number of wrong variants found per byte of a case's buffers."""
        seen = self._histories.get(case_plan.case, _CaseHistory())
        size = sum(case_plan.sizes[b.name] * b.dtype.itemsize for b in self.target.buffers)
        # Start from one imaginary wrong variant, so that untried cases get a try.
        return (seen.wrong + 1) / (seen.looks + 1) / max(1, size)

    def enter(self, case: str, *, right: bool) -> None:
        """Record whether a variant was right on a case."""
        seen = self._histories.setdefault(case, _CaseHistory())
        seen.looks += 1
        seen.wrong += not right

    def _plan(self, name: str, program: Program) -> CasePlan:
        case, configuration = self.cases[name], program.configuration
        target = program.launched(self.target)
        try:
            sizes = buffer_sizes(target, configuration, case)
            check_room(target, sizes)
            begins = buffer_begins(target, configuration, case, sizes)
            return CasePlan(
                name,
                plan(target, configuration, case.scalars),
                sizes,
                final_storage(target, configuration, case.scalars),
                offsets={
                    buffer.name: begins[buffer.name] * buffer.dtype.itemsize
                    for buffer in target.buffers
                    if buffer.name in begins
                },
            )
        except LaunchError as error:
            raise LaunchRefused(
                error.what, where=error.where or "", hint=error.hint or ""
            ) from None

    def references(self, program: Program) -> tuple[Loaded, ...]:
        """Return the reference, loaded at several addresses and kept there."""
        if self._reference is None or self._reference[0] != program:
            for one in self._reference[1] if self._reference else ():
                self.device.unload(one)
            self._reference, self._paces = None, ()
            first = self.device.load(program.binary)
            more = [self.device.load_elsewhere(program.binary) for _ in range(LOADS - 1)]
            self._reference = (program, (first, *more))
        return self._reference[1]

    def reference_to_time(self, program: Program, place: int, number: int) -> TimedRun:
        """Return the reference's run on the timed case with an index, for one draw and repetition.

        Its outputs are compared as a variant's are: what the device does between two runs decides
        what the next run finds in caches.
        """
        loads, case_plan = self.references(program), self.timed_plans(program)[place].drawn(number)
        known = number == 0 or not case_plan.redrawn
        expected = self.recorded(case_plan.case) if known else None
        return TimedRun(loads[number % len(loads)], case_plan, expected, self.rules)

    def paces(self, program: Program, limit: float) -> tuple[Pace, ...]:
        """Return how each timed case is timed: with more runs if they are short.

        The reference runs for that wherever it is loaded, twice unless it is slow, since a first
        run is slower. Variants are warmed up as well.
        """
        loads = self.references(program)  # forgets the times of another reference
        if not self._paces:
            plans = self.timed_plans(program)
            runs = [TimedRun(one, plan) for plan in plans for one in loads]
            done, whole = self._clocked(runs, limit)
            if min(one.seconds for one in done) < SLOW:
                done, whole = self._clocked(runs, limit)
            times = iter(done)
            shortest = [min(one.seconds for one in islice(times, len(loads))) for _ in plans]
            self._paces = tuple(pace(one, whole) for one in shortest)
        return self._paces

    def _clocked(self, runs: Sequence[TimedRun], limit: float) -> tuple[list[Timed], float]:
        """Run in turn. Return the results, and seconds of wall time per run with all overhead."""
        begun = time.perf_counter()
        done = self.device.run_round(runs, limit)
        return done, (time.perf_counter() - begun) / len(runs)

    def judge(self, case_plan: CasePlan) -> Judgement:
        """Judge the launches that just ran; writes beside outputs count as wrong."""
        damage = damage_of(case_plan, self.device.damaged(case_plan))
        return damage or self.judge_answers(case_plan)

    def judge_answers(self, case_plan: CasePlan) -> Judgement:
        """Judge the outputs of the launches that just ran."""
        expected = self.recorded(case_plan.case, case_plan.draw)
        if self.device.agrees(case_plan, expected, self.rules):
            return Judgement(0.0)
        return self.opinion(case_plan, self.device.outputs(case_plan))

    def was_damaged(self, program: Program) -> bool:
        """Tell whether memory was written that must not be; it is mended."""
        with self.device.turn():
            damaged = [self.device.damaged(one) for one in self.timed_plans(program)]
        return any(damaged)

    def run_to_verify(
        self, loaded: Loaded, case_plan: CasePlan, accepted: TimedRun | None = None
    ) -> TimedRun:
        """Return a run to verify against the reference's recorded run in the same draw.

        Args:
            accepted: an earlier run of the variant, with outputs that the oracle has accepted.
        """
        if accepted is not None:
            return replace(accepted, loaded=loaded, plan=case_plan)
        expected = self.recorded(case_plan.case, case_plan.draw)
        return TimedRun(loaded, case_plan, expected, self.rules)

    def judged(self, case_plan: CasePlan, verified: Verified) -> Judgement:
        """Judge a verified run.

        The oracle is not asked about outputs that are as good by its own rules as the reference's,
        or equal bit for bit to outputs that it accepted before. Comparing is cheaper, and may need
        no copying.
        """
        if damage := damage_of(case_plan, verified.damaged):
            return damage
        if part := verified.part:
            return self.opinion(case_plan, {part.buffer: part.values}, part.first)
        if verified.outputs is None:
            return Judgement(0.0)
        return self.opinion(case_plan, verified.outputs)

    def kept(self, case: str, outputs: Outputs) -> Outputs:
        """Return a permanent copy of acceptable outputs, one object for all equal ones.

        Many variants round alike, and a device copies each object once.
        """
        key = case, digest_of(outputs)
        if key not in self._kept:
            self._kept[key] = {name: np.copy(array) for name, array in outputs.items()}
        self._kept.move_to_end(key)
        found = self._kept[key]
        size = sum(map(bytes_of, self._kept.values()))
        while size > _KEPT:
            size -= bytes_of(self._kept.popitem(last=False)[1])
        return found

    def opinion(self, case_plan: CasePlan, outputs: Outputs, first: int | None = None) -> Judgement:
        """Return the oracle's judgement of outputs. Equal outputs are judged once.

        Args:
            first: index of the first value, if ``outputs`` is a section of one output with a wrong
                value.
        """
        case, draw = case_plan.case, case_plan.draw
        key = (case, draw, first, digest_of(outputs))
        if key not in self._opinions:
            expected = self.stored(case, draw)
            if first is None:
                verdict = self.target.oracle.judge(self.cases[case].values, outputs, expected)
            else:
                ((name, values),) = outputs.items()
                verdict = self.target.oracle.judge_part(name, first, values, expected)
            reason = "" if verdict.acceptable else f"{case}: {verdict.reason}"
            self._opinions[key] = Judgement(verdict.penalty, reason)
            if len(self._opinions) > _OPINIONS:
                self._opinions.popitem(last=False)
        return self._opinions[key]


def _forget(case: str, folder: Path) -> None:
    """Remove the recorded outputs of a case; links are not overwritten."""
    for ending in _STORED:
        (folder / f"{case}{ending}").unlink(missing_ok=True)
