"""What a worker holds variants against, on any device: cases, the reference, the oracle."""

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

from gi_cuda.backends.protocol.agreement import same_bytes
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
from gi_cuda.backends.workers.outputs import bytes_of, damage_of, digest_of
from gi_cuda.backends.workers.pace import SLOW, Pace, pace
from gi_cuda.backends.workers.prepared import UNREADABLE, is_mapped, load, save
from gi_cuda.backends.workers.room import check_room
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

_FEW = 1024
"""Items of arrays that are compared first."""

_OPINIONS = 1000
"""Opinions of the oracle that are remembered."""

_KEPT = 64 * 2**20
"""Bytes of acceptable answers that are remembered."""


@dataclass(slots=True)
class _CaseHistory:
    """What verifying on one case has shown: how many variants were looked at, and how many of them
    were told wrong."""

    looks: int = 0
    wrong: int = 0


class CaseRunner:
    """A device with the cases and the oracle that its variants are held against.

    Args:
        device: where variants run.
        target: what they are variants of.
        cases: its cases by name, which the device knows as well; those that are made later are
            entered.
        folder: holds the reference's recorded outputs.
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
        self.given: dict[object, Any] = {}  # the same, of one case as it is
        self.contents: dict[object, NDArray[Any]] = {}  # see :func:`.other_cases.substituted`

    def stored(self, case: str, draw: int = 0) -> Reference:
        """What a case's outputs in one draw are judged against: the reference's recorded runs."""
        if (case, draw) not in self._stored:
            self._stored[case, draw] = self._read(case, draw)
        return self._stored[case, draw]

    def recorded(self, case: str, draw: int = 0) -> Outputs:
        """The first of these runs as it lies in memory; always the same arrays."""
        if (case, draw) not in self._recorded:
            self._recorded[case, draw] = {
                name: in_memory(array, self.types[name])
                for name, array in self.stored(case, draw).outputs.items()
            }
        return self._recorded[case, draw]

    def _read(self, case: str, draw: int) -> Reference:
        # That of another version may be of no use; the arrays hold as much.
        with suppress(*UNREADABLE):
            if draw == 0:
                return load(self._folder / f"{case}{_PREPARED}")
        arrays = self._stacks.get(case) or self._recorded_runs(case)
        count = len(next(iter(arrays.values())))
        runs = [{name: stack[i] for name, stack in arrays.items()} for i in range(count)]
        # That of the draw is the first: the one that is compared with, where it is but one.
        runs = runs[draw % count :] + runs[: draw % count]
        return self.target.oracle.reference(runs)

    def _recorded_runs(self, case: str) -> dict[str, NDArray[Any]]:
        with np.load(self._folder / f"{case}.npz") as stacks:
            return dict(stacks)

    def store(self, case: str, runs: Sequence[Outputs], folder: Path) -> None:
        """Keep what the reference's runs gave, and what the oracle makes of it, for all workers."""
        first, *others = runs
        _forget(case, folder)
        stacks = {
            name: np.stack([run[name] for run in runs]) if others else array[np.newaxis]
            for name, array in first.items()
        }
        np.savez(folder / f"{case}.npz", **stacks)  # type: ignore[arg-type]
        with suppress(TypeError):  # then each worker prepares it anew
            save(folder / f"{case}{_PREPARED}", self.target.oracle.reference(runs))

    def store_as(self, case: str, other: str, folder: Path) -> None:
        """Keep what is stored of a case for another one that holds the same."""
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
        """Return the first case that holds the same as one, which may be the case itself: where an
        application makes only one launch, train and held-out case do."""
        mine = self.cases[case]
        return next(name for name, one in self.cases.items() if one is mine or _alike(one, mine))

    def made(self, case: Case) -> CaseData:
        """Return the data of a case, which need not be one of the target's. The data is made once.

        Raises:
            UserError: the data module fails, or the contents are not as declared.
        """
        if case.name not in self.cases:
            self.cases[case.name] = load_case(self.target, case)
        return self.cases[case.name]

    def isolate(self, programs: Iterable[Program]) -> None:
        """Isolate this process, which is to run programs that somebody else wrote. The expected
        answers are read before, and no kernel sees them."""
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
        """How a program's configuration runs each of its cases.

        Raises:
            LaunchRefused: an expression has no value, or gives a geometry that CUDA forbids.
        """
        values = tuple(program.configuration.items())  # 8 of one thing is not 8 of another
        plans = []
        for name in program.cases:
            key = (name, values, program.own)
            if key not in self._plans:
                self._plans[key] = self._plan(name, program)
            plans.append(self._plans[key])
        return plans

    def timed_plans(self, program: Program) -> list[CasePlan]:
        """The same of the cases that are timed.

        Raises:
            LaunchRefused: see :meth:`plans`.
        """
        return [one for one in self.plans(program) if one.case not in self._untimed]

    def plans_to_verify(self, program: Program) -> list[CasePlan]:
        """The same, that first which tells most wrong variants for the least work, by what this
        worker has seen: one that is wrong then costs a small launch, and no other.

        Raises:
            LaunchRefused: see :meth:`plans`.
        """
        return sorted(self.plans(program), key=self._gain, reverse=True)

    def _gain(self, case_plan: CasePlan) -> float:
        """Wrong variants that a case may be expected to tell for each byte of its buffers."""
        seen = self._histories.get(case_plan.case, _CaseHistory())
        size = sum(case_plan.sizes[b.name] * b.dtype.itemsize for b in self.target.buffers)
        # As if one had been looked at before, and found wrong: what was never tried gets a try.
        return (seen.wrong + 1) / (seen.looks + 1) / max(1, size)

    def enter(self, case: str, *, right: bool) -> None:
        """Remember whether a variant was right on a case."""
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
        """The reference, loaded in several places and kept as long as it is the same."""
        if self._reference is None or self._reference[0] != program:
            for one in self._reference[1] if self._reference else ():
                self.device.unload(one)
            self._reference, self._paces = None, ()
            first = self.device.load(program.binary)
            more = [self.device.load_elsewhere(program.binary) for _ in range(LOADS - 1)]
            self._reference = (program, (first, *more))
        return self._reference[1]

    def reference_to_time(self, program: Program, place: int, number: int) -> TimedRun:
        """The reference's run on the timed case at a place, in a draw, where it lies in this
        repetition. Its answers are looked at as a variant's are: what the device does between two
        runs decides what the next one finds in caches."""
        loads, case_plan = self.references(program), self.timed_plans(program)[place].drawn(number)
        known = number == 0 or not case_plan.redrawn
        expected = self.recorded(case_plan.case) if known else None
        return TimedRun(loads[number % len(loads)], case_plan, expected, self.rules)

    def paces(self, program: Program, limit: float) -> tuple[Pace, ...]:
        """How each timed case is timed: with more runs where they are short, since what disturbs a
        launch is a larger part of it then.

        The reference runs for that wherever it is loaded, the first time to warm up, as variants do
        before they are timed: a first run is slower, unless it is slow anyway.
        """
        loads = self.references(program)  # where it is another one, nothing is known of its times
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
        """Runs in turn, and seconds of wall time of each, with what is done before and after."""
        begun = time.perf_counter()
        done = self.device.run_round(runs, limit)
        return done, (time.perf_counter() - begun) / len(runs)

    def judge(self, case_plan: CasePlan) -> Judgement:
        """What the oracle says of the launches that just ran; unwanted writes count as wrong."""
        damage = damage_of(case_plan, self.device.damaged(case_plan))
        return damage or self.judge_answers(case_plan)

    def judge_answers(self, case_plan: CasePlan) -> Judgement:
        """Judge the answers of the launches that just ran."""
        expected = self.recorded(case_plan.case, case_plan.draw)
        if self.device.agrees(case_plan, expected, self.rules):
            return Judgement(0.0)
        return self.opinion(case_plan, self.device.outputs(case_plan))

    def was_damaged(self, program: Program) -> bool:
        """Whether anything was written to that must not be; it is mended."""
        with self.device.turn():
            damaged = [self.device.damaged(one) for one in self.timed_plans(program)]
        return any(damaged)

    def run_to_verify(
        self, loaded: Loaded, case_plan: CasePlan, accepted: TimedRun | None = None
    ) -> TimedRun:
        """A run whose answers are to be those of the reference's recorded run in the same draw, or
        as good by the oracle's rules.

        Args:
            accepted: an earlier run of it, with what its answers were found to be.
        """
        if accepted is not None:
            return replace(accepted, loaded=loaded, plan=case_plan)
        expected = self.recorded(case_plan.case, case_plan.draw)
        return TimedRun(loaded, case_plan, expected, self.rules)

    def judged(self, case_plan: CasePlan, verified: Verified) -> Judgement:
        """What is to be said of a run.

        The oracle is not asked about answers that are as good as those that were expected: the
        reference's recorded run in the same draw, by its own rules, or what it has accepted before,
        bit for bit. Comparing is cheaper, and the device may do it without copying.
        """
        if damage := damage_of(case_plan, verified.damaged):
            return damage
        if part := verified.part:
            return self.opinion(case_plan, {part.buffer: part.values}, part.first)
        if verified.outputs is None:
            return Judgement(0.0)
        return self.opinion(case_plan, verified.outputs)

    def kept(self, case: str, outputs: Outputs) -> Outputs:
        """Acceptable answers as they stay valid: what is the same bit for bit is one object, of
        which a device that compares with it needs one copy. Many variants round alike."""
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
        """What the oracle says of outputs.

        Wrong variants are often wrong in the same way: the same outputs are judged once.

        Args:
            first: the index of the first value, of a stretch of one output that has a wrong one.
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
    """Remove what is stored of a case; the files may be those of another one as well."""
    for ending in _STORED:
        (folder / f"{case}{ending}").unlink(missing_ok=True)


def _alike(one: CaseData, other: CaseData) -> bool:
    """Tell whether two cases hold the same, bit for bit."""
    if one.extras or other.extras:
        return False
    mine, theirs = ({**case.scalars, **case.buffers} for case in (one, other))
    if mine.keys() != theirs.keys():
        return False
    pairs = [
        (np.array(mine[name], ndmin=1, copy=None), np.array(theirs[name], ndmin=1, copy=None))
        for name in mine
    ]
    kinds = all(
        first.dtype == second.dtype and first.size == second.size for first, second in pairs
    )
    return kinds and all(
        same_bytes(first[:most], second[:most])
        for most in (_FEW, None)  # whole arrays where the first few are alike
        for first, second in pairs
    )
