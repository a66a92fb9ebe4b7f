"""Measuring variants beside the reference: verify, time in turn, verify again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median

import numpy as np

from gi_cuda.backends.protocol.device import Fate, LaunchRefused, Loaded, Timed, TimedRun
from gi_cuda.backends.protocol.requests import (
    Measure,
    Outputs,
    Program,
    Refused,
    Sampling,
    SharedMeasurement,
)
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.results.measurement import LOADS, Measurement, Sample, Survival
from gi_cuda.results.statistics import ratios
from gi_cuda.results.verdict import is_settled
from gi_cuda.spec import Judgement

AGAIN = 3
"""Times that a variant is verified once more whose answers were others while it was timed."""


def measure(case_runner: CaseRunner, request: Measure) -> Measurement:
    """Verify a variant on its first launch, time it beside the reference, verify it again. It is
    timed in several places in memory, as the reference is.

    Raises:
        LaunchRefused: the device does not take it.
    """
    runner = _Runner(case_runner, request.variant, request.sampling)
    try:
        if runner.verified() and request.sampling.most:
            runner.spread()
            _time(case_runner, [runner], request.reference, request.sampling)
            runner.verified_again()
    finally:
        runner.leave()
    return runner.measurement()


def measure_together(
    case_runner: CaseRunner, shared: SharedMeasurement
) -> tuple[Measurement | Refused, ...]:
    """Measure several variants together: their timed launches share those of the reference."""
    answers: dict[int, Measurement | Refused] = {}
    fit: list[tuple[int, _Runner]] = []
    entered: list[_Runner] = []
    try:
        for place, program in enumerate(shared.variants):
            try:
                runner = _Runner(case_runner, program, shared.sampling)
                entered.append(runner)
                if runner.verified():
                    fit.append((place, runner))
                else:
                    answers[place] = runner.measurement()
            except LaunchRefused as error:
                answers[place] = Refused(str(error), room=error.room)
        timed = fit if shared.sampling.most else []
        if timed:
            _time(case_runner, [runner for _, runner in timed], shared.reference, shared.sampling)
        doubt = len(timed) > 1 and case_runner.was_damaged(shared.reference)
        for place, runner in fit:
            if doubt:  # one of them wrote where it must not, and nobody can tell which
                alone = Measure(runner.program, shared.reference, shared.sampling)
                answers[place] = _or_refused(case_runner, alone)
                continue
            if timed:
                runner.verified_again()
            answers[place] = runner.measurement()
    finally:
        for runner in entered:
            runner.leave()
    return tuple(answers[place] for place in range(len(shared.variants)))


def _or_refused(case_runner: CaseRunner, request: Measure) -> Measurement | Refused:
    """What :func:`measure` gives, or why it is refused."""
    try:
        return measure(case_runner, request)
    except LaunchRefused as error:
        return Refused(str(error), room=error.room)


class _Runner:
    """A variant in a measurement.

    Raises:
        LaunchRefused: it cannot be loaded.
    """

    def __init__(self, case_runner: CaseRunner, program: Program, sampling: Sampling) -> None:
        self.program = program
        self._case_runner = case_runner
        self._sampling = sampling
        self._clock = _Clock()
        self._verdict = Judgement(0.0)
        self._fate: Fate | None = None
        self._answers: dict[str, Outputs] = {}
        self._differed = False
        self.loaded = case_runner.device.load(program.binary)
        self._places = [self.loaded]
        self.samples: list[Sample] = []

    def leave(self) -> None:
        """Unload it."""
        for one in self._places:
            self._case_runner.device.unload(one)

    def spread(self) -> None:
        """Load it into more places, and run it once in each, since a first run is slower."""
        device, plans = self._case_runner.device, self._case_runner.timed_plans(self.program)
        self._places += [device.load_elsewhere(self.program.binary) for _ in range(LOADS - 1)]
        for plan in plans:
            device.make_room(plan)
        with device.turn():
            runs = [TimedRun(one, plan) for plan in plans for one in self._places[1:]]
            device.run_round(runs, self._sampling.limit)

    def place(self, number: int) -> Loaded:
        """Where it runs in a repetition: each place meets all those of the reference."""
        return self._places[number // LOADS % len(self._places)]

    def verified(self, draw: int = 0) -> bool:
        """Run it on all its cases; whether its answers are acceptable.

        Args:
            draw: of scalars that are redrawn.
        """
        return self._verified(self.program, self._sampling.limit, draw)

    def _verified(self, program: Program, limit: float, draw: int = 0) -> bool:
        case_runner = self._case_runner
        self._clock.begin()
        for case_plan in case_runner.plans_to_verify(program):
            case_plan = case_plan.drawn(draw if case_plan.redrawn else 0)
            case_runner.device.make_room(case_plan)
            with case_runner.device.turn():
                self._clock.begin()
                case_runner.device.prepare(case_plan)
                case_runner.device.run(self.loaded, case_plan, limit)
                self._clock.ran()
                seen = case_runner.look(case_plan)
                fate = case_runner.device.fate()
            if fate is not None and fate.kind not in self._sampling.overlooked:
                self._fate = replace(fate, message=f"{case_plan.case}: {fate.message}")
                case_runner.enter(case_plan.case, right=False)
                self._clock.verified()
                return False
            answers = case_runner.stored(case_plan.case, case_plan.draw).outputs
            if not isinstance(seen, Judgement):
                answers, seen = seen, case_runner.opinion(case_plan, seen)
                if seen.acceptable:  # only then are they looked at again
                    answers = {name: np.copy(array) for name, array in answers.items()}
            if draw == 0 and seen.acceptable:
                self._answers[case_plan.case] = answers
            self._clock.verified()
            if seen.penalty and case_plan.draw:
                seen = Judgement(seen.penalty, f"{seen.reason}, in another draw")
            self._verdict = seen
            case_runner.enter(case_plan.case, right=not seen.penalty)
            if seen.penalty:
                return False
        return True

    def verified_again(self) -> None:
        """Verify it after it was timed: a variant may pass once and fault on repeats, or be right
        in some orders of threads, one draw or these cases alone.

        One that gave other answers while it was timed is verified some more times: it may be that
        these differ a little from run to run, or that it does not do its work every time.
        """
        siblings = self._sampling.siblings
        again = range(AGAIN if self._differed else 0)
        if all(self.verified() for _ in again) and self._verified_in_other_orders():
            self._verified(replace(self.program, cases=siblings.cases), siblings.limit)

    def _verified_in_other_orders(self) -> bool:
        """Verify it in another draw and, where the device takes them as it is told, in other orders
        of threads."""
        # Any of the recorded draws but the first.
        draw = 1 + self.program.binary.ident % max(1, self._case_runner.target.oracle.runs - 1)
        schedules = self._sampling.schedules
        if not schedules:
            return self.verified(draw)
        for name in schedules if self._looks_faster() else list(schedules)[:1]:
            schedule = Schedule(name)
            with self._case_runner.device.scheduled(schedule, schedules[name]):
                if self.verified(draw):
                    continue
            if self._verdict.reason:
                reason = f"{self._verdict.reason}, {schedule.words}"
                self._verdict = Judgement(self._verdict.penalty, reason)
            return False
        return True

    def _looks_faster(self) -> bool:
        values = ratios(self.samples)
        return len(values) > 0 and float(np.median(values)) < 1

    def run_to_time(self, place: int, number: int) -> TimedRun:
        """Its run on the timed case at a place, in a draw. What it gives is known of the first
        draw."""
        case_plan = self._case_runner.timed_plans(self.program)[place].drawn(number)
        known = number == 0 or not case_plan.redrawn
        return TimedRun(
            self.place(number), case_plan, self._answers[case_plan.case] if known else None
        )

    def timed(self, pairs: Iterable[tuple[Sample, bool]], seconds: float) -> None:
        """Enter pairs of timed runs, whether its answers were those of before, and the wall time
        that all took."""
        for sample, agrees in pairs:
            self.samples.append(sample)
            self._differed |= not agrees
        self._clock.run += seconds

    def measurement(self) -> Measurement:
        """What came out."""
        return Measurement(
            self.program.binary.ident,
            self._fate.survival if self._fate else Survival.NORMAL,
            None if self._fate else self._verdict.penalty,
            self._fate.message if self._fate else self._verdict.reason,
            tuple(self.samples),
            self._clock.run,
            self._clock.verify,
        )


def _time(
    case_runner: CaseRunner, runners: Sequence[_Runner], base: Program, sampling: Sampling
) -> None:
    """Repetitions in which every variant and the reference take turns in each case, as many as the
    sampling rules ask for; a variant drops out when no more pairs of it are asked for. The
    reference's loads take turns."""
    racing, enough = list(runners), (sampling.screen, sampling.floor)
    loads = case_runner.references(base)
    for case_plan in case_runner.timed_plans(base):
        case_runner.device.make_room(case_plan)
    with case_runner.device.turn():
        repeats = case_runner.repeats(base, sampling.limit)
        done = 0
        for wanted in _stages(sampling):
            begun = time.perf_counter()
            repetitions = [
                _Repetition(
                    number,
                    racing,
                    TimedRun(loads[number % len(loads)], theirs.drawn(number)),
                    place,
                    repeats[place],
                )
                for number in range(done, wanted)
                for place, theirs in enumerate(case_runner.timed_plans(base))
            ]
            runs = [run for one in repetitions for run in one.runs()]
            done_runs = iter(case_runner.device.run_round(runs, sampling.limit))
            pairs = [one.pairs(done_runs) for one in repetitions]
            share = (time.perf_counter() - begun) / len(racing)
            for runner, mine in zip(racing, zip(*pairs, strict=True), strict=True):
                runner.timed(mine, share)
            racing = [one for one in racing if not is_settled(one.samples, *enough)]
            done = wanted
            if not racing:
                return


@dataclass(frozen=True, slots=True)
class _Repetition:
    """Runs of each variant and of the reference on one case, in the same draw; they take turns in
    going first.

    Attributes:
        repeats: runs of each, whose median is its time.
    """

    number: int
    runners: Sequence[_Runner]
    reference: TimedRun
    place: int
    repeats: int

    def runs(self) -> list[TimedRun]:
        """All of them, in the order in which they run."""
        runs = [one.run_to_time(self.place, self.number) for one in self.runners]
        runs.append(self.reference)
        return (runs if self.number % 2 == 0 else runs[::-1]) * self.repeats

    def pairs(self, done: Iterator[Timed]) -> list[tuple[Sample, bool]]:
        """A sample for each variant and whether its answers were those of before, from what became
        of the runs in the order in which they ran."""
        each = len(self.runners) + 1
        mine = list(islice(done, each * self.repeats))
        turns = [mine[at::each] for at in range(each)]
        *variants, reference = turns if self.number % 2 == 0 else turns[::-1]
        case, base = self.reference.plan.case, _median(reference)
        return [
            (Sample(case, _median(one), base), all(run.agrees for run in one)) for one in variants
        ]


def _median(runs: Sequence[Timed]) -> float:
    return median(one.seconds for one in runs)


def _stages(sampling: Sampling) -> list[int]:
    """After how many pairs it is asked whether there shall be more.

    After the first one only where variants race: who wants all pairs is to get all of them.
    """
    if sampling.screen >= sampling.most:
        return [sampling.most]
    return [1, *range(sampling.screen, sampling.most, sampling.step), sampling.most]


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
