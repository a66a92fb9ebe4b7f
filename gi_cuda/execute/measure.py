"""What a worker does with a request, on any device: verify, time, verify again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gi_cuda.execute.device import Device, LaunchRefused, Loaded
from gi_cuda.execute.model import (
    CasePlan,
    CountLoops,
    LoopCounts,
    Measure,
    Measurement,
    Program,
    Record,
    Recorded,
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
        return self._damage(case_plan) or self._opinion(case_plan)

    def verify(self, case_plan: CasePlan) -> OracleVerdict:
        """The same, once the oracle has accepted the reference: it is not asked about answers that
        are those of the reference's first recorded run, bit for bit. Comparing is cheaper, and the
        device may do it without copying."""
        if damage := self._damage(case_plan):
            return damage
        if self.device.agrees(case_plan, self.stored(case_plan.case).outputs):
            return OracleVerdict(0.0)
        return self._opinion(case_plan)

    def _damage(self, case_plan: CasePlan) -> OracleVerdict | None:
        damaged = self.device.damaged(case_plan)
        if not damaged:
            return None
        reason = f"{case_plan.case}: wrote where it must not: {', '.join(damaged)}"
        return OracleVerdict(float(len(damaged)), reason)

    def _opinion(self, case_plan: CasePlan) -> OracleVerdict:
        case, outputs = case_plan.case, self.device.outputs(case_plan)
        verdict = self.target.oracle.judge(self.cases[case].values, outputs, self.stored(case))
        return OracleVerdict(
            verdict.penalty, "" if verdict.acceptable else f"{case}: {verdict.reason}"
        )


def record(bench: Bench, request: Record) -> Recorded:
    """Run the reference in several draws, store its outputs, and hold one more run, in the first
    draw, against its own oracle."""
    loaded = bench.device.load(request.reference.binary)
    request.folder.mkdir(parents=True, exist_ok=True)
    penalties: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for case_plan in bench.plans(request.reference):
        runs = []
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
    """Verify a variant on its first launch, time it beside the reference, verify it again."""
    program, limit = request.variant, request.sampling.limit
    loaded = bench.device.load(program.binary)
    clock = _Clock()
    samples: tuple[Sample, ...] = ()
    try:
        wrong = _verify(bench, loaded, program, limit, clock)
        if not wrong.penalty:
            samples = _time(bench, loaded, request)
            clock.ran()
            # A variant may pass once and fault on repeats.
            wrong = _verify(bench, loaded, program, limit, clock)
    finally:
        bench.device.unload(loaded)
    return Measurement(
        program.binary.ident,
        Survival.NORMAL,
        wrong.penalty,
        wrong.reason,
        samples,
        clock.run,
        clock.verify,
    )


def count_loops(bench: Bench, request: CountLoops) -> LoopCounts:
    """Run an instrumented variant over its cases; the most iterations of each loop."""
    loaded = bench.device.load(request.program.binary)
    with bench.device.counting(loaded, request.loops) as counts:
        for case_plan in bench.plans(request.program):
            bench.device.prepare(case_plan)
            bench.device.run(loaded, case_plan, request.limit)
        return LoopCounts(tuple(counts()))


def _verify(
    bench: Bench, loaded: Loaded, program: Program, limit: float, clock: _Clock
) -> OracleVerdict:
    for case_plan in bench.plans(program):
        bench.device.prepare(case_plan)
        bench.device.run(loaded, case_plan, limit)
        clock.ran()
        verdict = bench.verify(case_plan)
        clock.verified()
        if verdict.penalty:
            return verdict
    return OracleVerdict(0.0, "")


def _time(bench: Bench, loaded: Loaded, request: Measure) -> tuple[Sample, ...]:
    """Pairs of runs, variant and reference in turn, as many as the sampling rules ask for."""
    sampling = request.sampling
    reference = bench.reference(request.reference)
    plans = list(zip(bench.plans(request.variant), bench.plans(request.reference), strict=True))
    samples: list[Sample] = []
    done = 0
    for wanted in _stages(sampling):
        pairs = [
            _Pair(
                number, mine.case, (loaded, mine.drawn(number)), (reference, theirs.drawn(number))
            )
            for number in range(done, wanted)
            for mine, theirs in plans
        ]
        runs = [run for pair in pairs for run in pair.order()]
        seconds = bench.device.run_round(runs, sampling.limit)
        samples += [
            pair.sample(first, second)
            for pair, first, second in zip(pairs, seconds[::2], seconds[1::2], strict=True)
        ]
        done = wanted
        if _settled(samples, sampling):
            break
    return tuple(samples)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Variant and reference on one case, in the same draw; who goes first alternates."""

    number: int
    case: str
    variant: tuple[Loaded, CasePlan]
    reference: tuple[Loaded, CasePlan]

    def order(self) -> tuple[tuple[Loaded, CasePlan], tuple[Loaded, CasePlan]]:
        """Both runs, the first one first."""
        if self.number % 2 == 0:
            return self.variant, self.reference
        return self.reference, self.variant

    def sample(self, first: float, second: float) -> Sample:
        """The times of both runs, in that order, as a sample."""
        variant, reference = (first, second) if self.number % 2 == 0 else (second, first)
        return Sample(self.case, variant, reference)


def _stages(sampling: Sampling) -> list[int]:
    return [*range(sampling.screen, sampling.most, sampling.step), sampling.most]


def _settled(samples: list[Sample], sampling: Sampling) -> bool:
    """More pairs are for those that look faster and are not yet certain to be."""
    values = ratios(samples)
    looks_faster = float(np.median(values)) < 1 - sampling.floor
    return not looks_faster or judge(values, sampling.floor) is Verdict.FASTER


class _Clock:
    """Wall time spent running and verifying."""

    def __init__(self) -> None:
        self.run = self.verify = 0.0
        self._last = time.perf_counter()

    def _lap(self) -> float:
        now = time.perf_counter()
        lap, self._last = now - self._last, now
        return lap

    def ran(self) -> None:
        self.run += self._lap()

    def verified(self) -> None:
        self.verify += self._lap()
