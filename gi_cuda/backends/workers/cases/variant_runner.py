"""One variant in a measurement: its runs and their results."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gi_cuda.backends.protocol.device import Fate, Loaded, TimedRun, Verified
from gi_cuda.backends.protocol.programs import CasePlan, Program, Sampling
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.pace import SLOW
from gi_cuda.results.measurement import LOADS, Measurement, Sample, Survival
from gi_cuda.results.statistics import ratios
from gi_cuda.spec import Judgement


class VariantRunner:
    """One variant in a measurement.

    Attributes:
        differed: whether it gave other outputs while it was timed.
        elsewhere: whether it runs on the sibling cases.

    Raises:
        LaunchRefused: it cannot be loaded.
    """

    def __init__(self, case_runner: CaseRunner, program: Program, sampling: Sampling) -> None:
        self.program = program
        self._case_runner = case_runner
        self._sampling = sampling
        self._run_seconds = self._verify_seconds = 0.0
        self._verdict = Judgement(0.0)
        self._fate: Fate | None = None
        self._answers: dict[str, TimedRun] = {}
        self.differed = self.elsewhere = False
        self.loaded = case_runner.device.load(program.binary)
        self._places = [self.loaded]
        self.samples: list[Sample] = []

    def leave(self) -> None:
        """Unload the variant."""
        for one in self._places:
            self._case_runner.device.unload(one)

    def spread(self) -> None:
        """Load it at more addresses, and run it once at each, since a first run is slower.

        A variant that took long when it was verified needs neither.
        """
        if self._run_seconds > SLOW:
            return
        device, plans = self._case_runner.device, self._case_runner.timed_plans(self.program)
        self._places += [device.load_elsewhere(self.program.binary) for _ in range(LOADS - 1)]
        for plan in plans:
            device.make_room(plan)
        with device.turn():
            runs = [TimedRun(one, plan) for plan in plans for one in self._places[1:]]
            device.run_round(runs, self._sampling.limit)

    def place(self, number: int) -> Loaded:
        """Return the copy to run in a repetition.

        Each copy is paired with all copies of the reference, and is unused for as long as these,
        since code that ran just before is in a cache.
        """
        return self._places[(number + number // LOADS) % len(self._places)]

    def run_on(self, case_plan: CasePlan, draw: int = 0) -> TimedRun:
        """Return its run on a case, after making it ready.

        Raises:
            LaunchRefused: the device refuses it.
        """
        case_plan = case_plan.drawn(draw if case_plan.redrawn else 0)
        self._case_runner.device.make_ready(self.loaded, case_plan)
        accepted = None if case_plan.draw else self._answers.get(case_plan.case)
        return self._case_runner.run_to_verify(self.loaded, case_plan, accepted)

    def judged(self, run: TimedRun, seen: Verified) -> bool:
        """Record the result of a run. Return whether its outputs are acceptable."""
        begun, case_plan = time.perf_counter(), run.plan
        self._run_seconds += seen.seconds
        overlooked, right = self._sampling.overlooked, False
        if fate := next((one for one in seen.fates if one.kind not in overlooked), None):
            self._fate = replace(fate, message=f"{case_plan.case}: {fate.message}")
        else:
            self._verdict = self._case_runner.judged(case_plan, seen)
            if self._verdict.penalty and case_plan.draw:
                reason = f"{self._verdict.reason}, in another draw"
                self._verdict = Judgement(self._verdict.penalty, reason)
            right = not self._verdict.penalty
            if right and not case_plan.draw:
                self._answers[case_plan.case] = self._accepted(run, seen)
        self._case_runner.enter(case_plan.case, right=right)
        self._verify_seconds += time.perf_counter() - begun
        return right

    def _accepted(self, run: TimedRun, seen: Verified) -> TimedRun:
        """Return a run that later runs on the case are compared with."""
        if seen.outputs is None:
            return run
        outputs = self._case_runner.kept(run.plan.case, seen.outputs)
        return replace(run, expected=outputs, rules=None)

    def add_reason(self, words: str) -> None:
        """Add to the verdict in what kind of run the variant was found wrong."""
        if self._verdict.reason:
            reason = f"{self._verdict.reason}, {words}"
            self._verdict = Judgement(self._verdict.penalty, reason)

    @property
    def ratio(self) -> float:
        """Median ratio of its time to the reference's so far; infinite before it was timed."""
        values = ratios(self.samples)
        return float(np.median(values)) if len(values) else math.inf

    @property
    def looks_faster(self) -> bool:
        """Tell whether it took less time than the reference so far."""
        return self.ratio < 1

    def run_to_time(self, place: int, number: int) -> TimedRun:
        """Return its run on a timed case in a draw. Only in the first draw are its outputs known.

        Args:
            place: index of the timed case.
            number: number of the draw.
        """
        case_plan = self._case_runner.timed_plans(self.program)[place].drawn(number)
        known = number == 0 or not case_plan.redrawn
        if not known:
            return TimedRun(self.place(number), case_plan)
        accepted = self._answers[case_plan.case]
        return self._case_runner.run_to_verify(self.place(number), case_plan, accepted)

    def timed(self, pairs: Iterable[tuple[Sample, bool]], seconds: float) -> None:
        """Record timed runs.

        Args:
            pairs: samples, each with whether the outputs were those of before.
            seconds: wall time of all.
        """
        for sample, agrees in pairs:
            self.samples.append(sample)
            self.differed |= not agrees
        self._run_seconds += seconds

    def measurement(self) -> Measurement:
        """Return the result of the measurement."""
        return Measurement(
            self.program.binary.ident,
            self._fate.survival if self._fate else Survival.NORMAL,
            None if self._fate else self._verdict.penalty,
            self._fate.message if self._fate else self._verdict.reason,
            tuple(self.samples),
            self._run_seconds,
            self._verify_seconds,
            self.elsewhere,
        )
