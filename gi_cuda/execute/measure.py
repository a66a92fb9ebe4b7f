"""What a worker does with a request, on any device: verify, time, verify again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gi_cuda.execute.device import Device, Loaded
from gi_cuda.execute.model import (
    CasePlan,
    CountLoops,
    LoopCounts,
    Measure,
    Measurement,
    Outputs,
    Program,
    Record,
    Recorded,
    Sample,
    Sampling,
    Survival,
)
from gi_cuda.execute.statistics import judge, ratios
from gi_cuda.execute.model import Verdict
from gi_cuda.target import CaseData, Oracle


@dataclass(slots=True)
class Bench:
    """A device with the cases and the oracle that its variants are held against."""

    device: Device
    cases: Mapping[str, CaseData]
    oracle: Oracle
    folder: Path
    _stored: dict[str, Outputs]
    _reference: tuple[Program, Loaded] | None = None

    def stored(self, case: str) -> Outputs:
        """The reference's recorded outputs of a case."""
        if case not in self._stored:
            with np.load(self.folder / f"{case}.npz") as arrays:
                self._stored[case] = dict(arrays)
        return self._stored[case]

    def reference(self, program: Program) -> Loaded:
        """The reference, loaded once and kept as long as it is the same."""
        if self._reference is None or self._reference[0] != program:
            if self._reference is not None:
                self.device.unload(self._reference[1])
            self._reference = (program, self.device.load(program.binary))
        return self._reference[1]


def record(bench: Bench, request: Record) -> Recorded:
    """Run the reference; store its outputs and hold them against its own oracle."""
    loaded = bench.device.load(request.reference.binary)
    seconds = 0.0
    penalties: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for plan in request.reference.plans:
        case = bench.cases[plan.case]
        runs, times = [], []
        for _ in range(request.runs):
            bench.device.prepare(plan)
            times.append(bench.device.run(loaded, plan, request.limit))
            runs.append({name: np.copy(a) for name, a in bench.device.outputs(plan).items()})
        seconds += float(np.median(times))
        outputs = bench.oracle.reference(runs)
        request.folder.mkdir(parents=True, exist_ok=True)
        np.savez(request.folder / f"{plan.case}.npz", **outputs)
        verdict = bench.oracle.judge(case, runs[-1], outputs)
        damaged = bench.device.damaged(plan)
        penalties[plan.case] = verdict.penalty + len(damaged)
        reasons[plan.case] = _damage(damaged) or verdict.reason
    return Recorded(seconds, penalties, reasons)


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
    for plan in request.program.plans:
        bench.device.prepare(plan)
        bench.device.run(loaded, plan, request.limit)
    return LoopCounts(bench.device.loop_counts(loaded, request.loops))


def _verify(
    bench: Bench, loaded: Loaded, program: Program, limit: float, clock: _Clock
) -> OracleVerdict:
    for plan in program.plans:
        bench.device.prepare(plan)
        bench.device.run(loaded, plan, limit)
        clock.ran()
        verdict = _judge(bench, plan)
        clock.verified()
        if verdict.penalty:
            return verdict
    return OracleVerdict(0.0, "")


def _judge(bench: Bench, plan: CasePlan) -> OracleVerdict:
    damaged = bench.device.damaged(plan)
    if damaged:
        reason = f"{plan.case}: wrote to the read-only input {', '.join(damaged)}"
        return OracleVerdict(float(len(damaged)), reason)
    verdict = bench.oracle.judge(
        bench.cases[plan.case], bench.device.outputs(plan), bench.stored(plan.case)
    )
    reason = f"{plan.case}: {verdict.reason}" if verdict.penalty else ""
    return OracleVerdict(verdict.penalty, reason)


def _time(bench: Bench, loaded: Loaded, request: Measure) -> tuple[Sample, ...]:
    """Pairs of runs, variant and reference in turn, as many as the sampling rules ask for."""
    sampling = request.sampling
    reference = bench.reference(request.reference)
    samples: list[Sample] = []

    def pair(first_variant: bool) -> None:
        for mine, theirs in zip(request.variant.plans, request.reference.plans, strict=True):
            runs = [(loaded, mine), (reference, theirs)]
            seconds = []
            for which, plan in runs if first_variant else runs[::-1]:
                bench.device.prepare(plan)
                seconds.append(bench.device.run(which, plan, sampling.limit))
            variant, ref = seconds if first_variant else seconds[::-1]
            samples.append(Sample(mine.case, variant, ref))

    number = 0
    for wanted in _stages(sampling):
        while number < wanted:
            pair(first_variant=number % 2 == 0)
            number += 1
        if _settled(samples, sampling):
            break
    return tuple(samples)


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
