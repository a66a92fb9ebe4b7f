"""What a worker does with a request, on any device: verify, time, verify again."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import xxhash

from gi_cuda.execute.device import Device, LaunchRefused, Loaded
from gi_cuda.execute.model import (
    CasePlan,
    CountLoops,
    GetReady,
    Heat,
    LoopCounts,
    Measure,
    Measurement,
    Outputs,
    Program,
    Record,
    Recorded,
    Refused,
    Sample,
    Sampling,
    Survival,
    Verdict,
)
from gi_cuda.execute.statistics import judge, ratios
from gi_cuda.target import (
    CaseData,
    LaunchError,
    Reference,
    Target,
    Value,
    buffer_sizes,
    final_storage,
    plan,
)
from gi_cuda.target import Verdict as OracleVerdict

_OPINIONS = 1000
"""Opinions of the oracle that are remembered."""


class Bench:
    """A device with the cases and the oracle that its variants are held against.

    Args:
        device: where variants run.
        target: what they are variants of.
        cases: its cases by name.
        folder: holds the reference's recorded outputs.
    """

    def __init__(
        self, device: Device, target: Target, cases: Mapping[str, CaseData], folder: Path
    ) -> None:
        self.device = device
        self.target = target
        self.cases = cases
        self._folder = folder
        self._stored: dict[str, Reference] = {}
        self._plans: dict[tuple[str, tuple[Value, ...]], CasePlan] = {}
        self._reference: tuple[Program, Loaded] | None = None
        self._opinions: OrderedDict[tuple[str, bytes], OracleVerdict] = OrderedDict()

    def stored(self, case: str) -> Reference:
        """What a case's outputs are judged against: the reference's recorded runs."""
        if case not in self._stored:
            with np.load(self._folder / f"{case}.npz") as stacks:
                arrays = dict(stacks)
            count = len(next(iter(arrays.values())))
            runs = [{name: stack[i] for name, stack in arrays.items()} for i in range(count)]
            self._stored[case] = self.target.oracle.reference(runs)
        return self._stored[case]

    def plans(self, program: Program) -> list[CasePlan]:
        """How a program's configuration runs each of its cases.

        Raises:
            LaunchRefused: an expression has no value, or gives a geometry that CUDA forbids.
        """
        values = tuple(program.configuration.values())
        plans = []
        for name in program.cases:
            key = (name, values)
            if key not in self._plans:
                self._plans[key] = self._plan(name, program.configuration)
            plans.append(self._plans[key])
        return plans

    def _plan(self, name: str, configuration: Mapping[str, Value]) -> CasePlan:
        case = self.cases[name]
        try:
            return CasePlan(
                name,
                plan(self.target, configuration, case.scalars),
                buffer_sizes(self.target, configuration, case),
                final_storage(self.target, configuration, case.scalars),
            )
        except LaunchError as error:
            raise LaunchRefused(str(error)) from None

    def reference(self, program: Program) -> Loaded:
        """The reference, loaded once and kept as long as it is the same."""
        if self._reference is None or self._reference[0] != program:
            if self._reference is not None:
                self.device.unload(self._reference[1])
            self._reference = (program, self.device.load(program.binary))
        return self._reference[1]

    def judge(self, case_plan: CasePlan) -> OracleVerdict:
        """What the oracle says of the launches that just ran; unwanted writes count as wrong."""
        damage = _damage(case_plan, self.device.damaged(case_plan))
        return damage or self.opinion(case_plan, self.device.outputs(case_plan))

    def look(self, case_plan: CasePlan) -> OracleVerdict | Outputs:
        """What the device can tell of the launches that just ran, and their outputs where it takes
        the oracle to tell.

        Once the oracle has accepted the reference, it is not asked about answers that are those of
        the reference's first recorded run, bit for bit. Comparing is cheaper, and the device may
        do it without copying.
        """
        expected = self.stored(case_plan.case).outputs
        damaged, agrees = self.device.look(case_plan, expected)
        if damage := _damage(case_plan, damaged):
            return damage
        return OracleVerdict(0.0) if agrees else self.device.outputs(case_plan)

    def opinion(self, case_plan: CasePlan, outputs: Outputs) -> OracleVerdict:
        """What the oracle says of outputs.

        Wrong variants are often wrong in the same way: the same outputs are judged once.
        """
        case = case_plan.case
        key = (case, _digest(outputs))
        if key not in self._opinions:
            verdict = self.target.oracle.judge(self.cases[case].values, outputs, self.stored(case))
            reason = "" if verdict.acceptable else f"{case}: {verdict.reason}"
            self._opinions[key] = OracleVerdict(verdict.penalty, reason)
            if len(self._opinions) > _OPINIONS:
                self._opinions.popitem(last=False)
        return self._opinions[key]


def _damage(case_plan: CasePlan, damaged: Sequence[str]) -> OracleVerdict | None:
    """What counts as wrong before any answer is looked at."""
    if not damaged:
        return None
    reason = f"{case_plan.case}: wrote where it must not: {', '.join(damaged)}"
    return OracleVerdict(float(len(damaged)), reason)


def _digest(outputs: Outputs) -> bytes:
    digest = xxhash.xxh3_128()
    for name, array in sorted(outputs.items()):
        digest.update(f"{name} {array.dtype} {array.size} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def record(bench: Bench, request: Record) -> Recorded:
    """Run the reference in several draws, store its outputs, and hold one more run, in the first
    draw, against its own oracle."""
    loaded = bench.device.load(request.reference.binary)
    request.folder.mkdir(parents=True, exist_ok=True)
    penalties: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for case_plan in bench.plans(request.reference):
        runs = []
        with bench.device.turn():
            for draw in range(request.runs):
                bench.device.prepare(case_plan)
                bench.device.run(loaded, case_plan.drawn(draw), request.limit)
                outputs = bench.device.outputs(case_plan)
                runs.append({name: np.copy(array) for name, array in outputs.items()})
            stacks = {name: np.stack([one[name] for one in runs]) for name in runs[0]}
            np.savez(request.folder / f"{case_plan.case}.npz", **stacks)  # type: ignore[arg-type]
            bench.device.prepare(case_plan)
            bench.device.run(loaded, case_plan, request.limit)
            verdict = bench.judge(case_plan)
        penalties[case_plan.case], reasons[case_plan.case] = verdict.penalty, verdict.reason
    return Recorded(penalties, reasons)


def measure(bench: Bench, request: Measure) -> Measurement:
    """Verify a variant on its first launch, time it beside the reference, verify it again.

    Raises:
        LaunchRefused: the device does not take it.
    """
    bench.device.allow(request.sampling.grace)
    runner = _Runner(bench, request.variant, request.sampling.limit)
    try:
        if runner.verified():
            _time(bench, [runner], request.reference, request.sampling)
            # A variant may pass once and fault on repeats.
            runner.verified()
    finally:
        runner.leave()
    return runner.measurement()


def measure_heat(bench: Bench, heat: Heat) -> tuple[Measurement | Refused, ...]:
    """The same for several variants, whose timed launches share those of the reference."""
    bench.device.allow(heat.sampling.grace)
    answers: dict[int, Measurement | Refused] = {}
    fit: list[tuple[int, _Runner]] = []
    entered: list[_Runner] = []
    try:
        for place, program in enumerate(heat.variants):
            try:
                runner = _Runner(bench, program, heat.sampling.limit)
                entered.append(runner)
                if runner.verified():
                    fit.append((place, runner))
                else:
                    answers[place] = runner.measurement()
            except LaunchRefused as error:
                answers[place] = Refused(str(error))
        if fit:
            _time(bench, [runner for _, runner in fit], heat.reference, heat.sampling)
        for place, runner in fit:
            runner.verified()
            answers[place] = runner.measurement()
    finally:
        for runner in entered:
            runner.leave()
    return tuple(answers[place] for place in range(len(heat.variants)))


def get_ready(bench: Bench, request: GetReady) -> None:
    """Do beforehand what the first measurement would have to wait for."""
    for case_plan in bench.plans(request.reference):
        bench.device.make_room(case_plan)
        bench.stored(case_plan.case)
    bench.reference(request.reference)


def count_loops(bench: Bench, request: CountLoops) -> LoopCounts:
    """Run an instrumented variant over its cases; the most iterations of each loop."""
    loaded = bench.device.load(request.program.binary)
    with bench.device.turn(), bench.device.counting(loaded, request.loops) as counts:
        for case_plan in bench.plans(request.program):
            bench.device.prepare(case_plan)
            bench.device.run(loaded, case_plan, request.limit)
        return LoopCounts(tuple(counts()))


class _Runner:
    """A variant in a measurement.

    Raises:
        LaunchRefused: it cannot be loaded.
    """

    def __init__(self, bench: Bench, program: Program, limit: float) -> None:
        self.program = program
        self._bench = bench
        self._limit = limit
        self._clock = _Clock()
        self._verdict = OracleVerdict(0.0)
        self.loaded = bench.device.load(program.binary)
        self.samples: list[Sample] = []

    def leave(self) -> None:
        """Unload it."""
        self._bench.device.unload(self.loaded)

    def verified(self) -> bool:
        """Run it on all cases; whether its answers are acceptable."""
        bench = self._bench
        self._clock.begin()
        for case_plan in bench.plans(self.program):
            bench.device.make_room(case_plan)
            with bench.device.turn():
                self._clock.begin()
                bench.device.prepare(case_plan)
                bench.device.run(self.loaded, case_plan, self._limit)
                self._clock.ran()
                seen = bench.look(case_plan)
            if not isinstance(seen, OracleVerdict):
                seen = bench.opinion(case_plan, seen)
            self._clock.verified()
            self._verdict = seen
            if seen.penalty:
                return False
        return True

    def timed(self, samples: Iterable[Sample], seconds: float) -> None:
        """Enter pairs of timed runs, and the wall time that they took."""
        self.samples += samples
        self._clock.run += seconds

    def measurement(self) -> Measurement:
        """What came out."""
        return Measurement(
            self.program.binary.ident,
            Survival.NORMAL,
            self._verdict.penalty,
            self._verdict.reason,
            tuple(self.samples),
            self._clock.run,
            self._clock.verify,
        )


def _time(bench: Bench, runners: Sequence[_Runner], base: Program, sampling: Sampling) -> None:
    """Repetitions in which every variant and the reference run once in each case, as many as the
    sampling rules ask for; a variant drops out when no more pairs of it are asked for."""
    racing = list(runners)
    reference = bench.reference(base)
    for case_plan in bench.plans(base):
        bench.device.make_room(case_plan)
    with bench.device.turn():
        done = 0
        for wanted in _stages(sampling):
            begun = time.perf_counter()
            repetitions = [
                _Repetition(number, racing, (reference, theirs.drawn(number)), place)
                for number in range(done, wanted)
                for place, theirs in enumerate(bench.plans(base))
            ]
            runs = [run for one in repetitions for run in one.runs(bench)]
            seconds = iter(bench.device.run_round(runs, sampling.limit))
            samples = [one.samples(seconds) for one in repetitions]
            share = (time.perf_counter() - begun) / len(racing)
            for runner, mine in zip(racing, zip(*samples, strict=True), strict=True):
                runner.timed(mine, share)
            racing = [one for one in racing if not _settled(one.samples, sampling)]
            done = wanted
            if not racing:
                return


@dataclass(frozen=True, slots=True)
class _Repetition:
    """One run of each variant and of the reference on one case, in the same draw; they take turns
    in going first."""

    number: int
    runners: Sequence[_Runner]
    reference: tuple[Loaded, CasePlan]
    place: int

    def runs(self, bench: Bench) -> list[tuple[Loaded, CasePlan]]:
        """All of them, in the order in which they run."""
        runs = [
            (one.loaded, bench.plans(one.program)[self.place].drawn(self.number))
            for one in self.runners
        ]
        runs.append(self.reference)
        return runs if self.number % 2 == 0 else runs[::-1]

    def samples(self, seconds: Iterator[float]) -> list[Sample]:
        """A sample for each variant, from the times in the order in which they ran."""
        mine = list(islice(seconds, len(self.runners) + 1))
        *variants, reference = mine if self.number % 2 == 0 else mine[::-1]
        return [Sample(self.reference[1].case, one, reference) for one in variants]


def _stages(sampling: Sampling) -> list[int]:
    return [1, *range(sampling.screen, sampling.most, sampling.step), sampling.most]


_WORTHWHILE = 1e-4
"""Seconds that a launch must take more than the reference's, for one pair to be enough; the times
of shorter ones differ by more than their noise floor now and then, and little would be saved."""


def _settled(samples: list[Sample], sampling: Sampling) -> bool:
    """More pairs are for those that look faster and are not yet certain to be, after a few for all
    but those that are far slower."""
    values = ratios(samples)
    if len(values) < sampling.screen:
        more = sum(sample.variant - sample.reference for sample in samples) / len(samples)
        return more > _WORTHWHILE and judge(values, sampling.floor) is Verdict.SLOWER
    looks_faster = float(np.median(values)) < 1 - sampling.floor
    return not looks_faster or judge(values, sampling.floor) is Verdict.FASTER


class _Clock:
    """Wall time spent running and verifying; what passes before ``begin`` is neither."""

    def __init__(self) -> None:
        self.run = self.verify = 0.0
        self._last = 0.0

    def begin(self) -> None:
        self._last = time.perf_counter()

    def _lap(self) -> float:
        now = time.perf_counter()
        lap, self._last = now - self._last, now
        return lap

    def ran(self) -> None:
        self.run += self._lap()

    def verified(self) -> None:
        self.verify += self._lap()
