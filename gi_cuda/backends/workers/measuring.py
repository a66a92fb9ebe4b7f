"""Measuring variants beside the reference: verify, time in turn, verify again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from gi_cuda.backends.protocol.device import LaunchRefused, Timed, TimedRun
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import GetReady, Measure, Refused, SharedMeasurement
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.pace import Pace
from gi_cuda.backends.workers.variant_runner import VariantRunner
from gi_cuda.backends.workers.verifying import Verifier
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.results.verdict import is_settled


def measure(case_runner: CaseRunner, request: Measure) -> Measurement:
    """Verify a variant on its first launch, time it beside the reference, verify it again. It is
    timed in several places in memory, as the reference is.

    Raises:
        LaunchRefused: the device does not take it.
    """
    sampling = request.sampling
    verifier = Verifier(case_runner, sampling)
    try:
        verifier.enter([request.variant])
        if verifier.right() and sampling.most:
            runner = verifier.runners[0]
            runner.spread()
            _time(case_runner, [runner], request.reference, sampling)
            verifier.verify_again([0])
        for error in verifier.refused.values():
            raise error
        return verifier.runners[0].measurement()
    finally:
        verifier.leave()


def measure_together(
    case_runner: CaseRunner, shared: SharedMeasurement
) -> tuple[Measurement | Refused, ...]:
    """Measure several variants together: their timed launches share those of the reference."""
    verifier = Verifier(case_runner, shared.sampling)
    alone: dict[int, Measurement | Refused] = {}
    try:
        verifier.enter(shared.variants)
        fit = verifier.right()
        if fit:
            runners = [verifier.runners[place] for place in fit]
            _time(case_runner, runners, shared.reference, shared.sampling)
        if len(fit) > 1 and case_runner.was_damaged(shared.reference):
            # One of them wrote where it must not, and nobody can tell which.
            for place in fit:
                request = Measure(shared.variants[place], shared.reference, shared.sampling)
                alone[place] = _or_refused(case_runner, request)
        else:
            verifier.verify_again(fit)
        return tuple(alone.get(at, one) for at, one in enumerate(verifier.answers()))
    finally:
        verifier.leave()


def _or_refused(case_runner: CaseRunner, request: Measure) -> Measurement | Refused:
    """What :func:`measure` gives, or why it is refused."""
    try:
        return measure(case_runner, request)
    except LaunchRefused as error:
        return Refused(str(error), room=error.room)


def _time(
    case_runner: CaseRunner, runners: Sequence[VariantRunner], base: Program, sampling: Sampling
) -> None:
    """Repetitions in which every variant and the reference take turns in each case, as many as the
    sampling rules ask for; a variant drops out when no more pairs of it are asked for. The
    reference's loads take turns."""
    racing, enough = list(runners), (sampling.screen, sampling.floor)
    plans = case_runner.timed_plans(base)
    for case_plan in plans:
        case_runner.device.make_room(case_plan)
    with case_runner.device.turn():
        paces = case_runner.paces(base, sampling.limit)
        done = 0
        for wanted in _stages(sampling):
            begun = time.perf_counter()
            cases = [
                [
                    Repetition(
                        number, racing, case_runner.reference_to_time(base, at, number), at, pace
                    )
                    for number in range(done, wanted)
                ]
                for at, pace in enumerate(paces)
            ]
            done_runs = iter(case_runner.device.run_round(in_order(cases), sampling.limit))
            pairs = list(pairs_of(cases, done_runs))
            share = (time.perf_counter() - begun) / len(racing)
            for runner, mine in zip(racing, zip(*pairs, strict=True), strict=True):
                runner.timed(mine, share)
            racing = [one for one in racing if not is_settled(one.samples, *enough)]
            done = wanted
            if not racing:
                return


@dataclass(frozen=True, slots=True)
class Repetition:
    """Runs of each variant and of the reference on one case, in the same draw; they take turns in
    going first.

    Attributes:
        pace: how many runs of each there are, whose median is its time.
    """

    number: int
    runners: Sequence[VariantRunner]
    reference: TimedRun
    place: int
    pace: Pace

    def once(self) -> list[TimedRun]:
        """One run of each."""
        runs = [one.run_to_time(self.place, self.number) for one in self.runners]
        return [*runs, self.reference]

    def runs(self) -> list[TimedRun]:
        """All of them, in the order in which they run."""
        runs = self.once()
        return (runs if self.number % 2 == 0 else runs[::-1]) * self.pace.repeats

    def pairs(self, done: Iterator[Timed]) -> list[tuple[Sample, bool]]:
        """A sample for each variant and whether its answers were those of before, from what became
        of the runs in the order in which they ran."""
        each = len(self.runners) + 1
        mine = list(islice(done, each * self.pace.repeats))
        turns = [mine[at::each] for at in range(each)]
        *variants, reference = turns if self.number % 2 == 0 else turns[::-1]
        case, base = self.reference.plan.case, _median(reference)
        return [
            (Sample(case, _median(one), base), all(run.agrees for run in one)) for one in variants
        ]


def in_order(cases: Sequence[Sequence[Repetition]]) -> list[TimedRun]:
    """All runs of repetitions, one case after the other, each behind those that warm it up."""
    return [
        run
        for mine in cases
        for run in (*_warming(mine), *(run for one in mine for run in one.runs()))
    ]


def _warming(mine: Sequence[Repetition]) -> list[TimedRun]:
    """The runs that do not count."""
    return mine[0].once() if mine[0].pace.warmed else []


def pairs_of(
    cases: Sequence[Sequence[Repetition]], done: Iterator[Timed]
) -> Iterator[list[tuple[Sample, bool]]]:
    """Return the samples of each repetition, from what became of those runs."""
    for mine in cases:
        for _ in _warming(mine):
            next(done)
        yield from (one.pairs(done) for one in mine)


def _median(runs: Sequence[Timed]) -> float:
    return median(one.seconds for one in runs)


def _stages(sampling: Sampling) -> list[int]:
    """After how many pairs it is asked whether there shall be more.

    After the first one only where variants race: who wants all pairs is to get all of them.
    """
    if sampling.screen >= sampling.most:
        return [sampling.most]
    return [1, *range(sampling.screen, sampling.most, sampling.step), sampling.most]


def get_ready(runner: CaseRunner, request: GetReady) -> None:
    """Do beforehand what the first measurement would have to wait for."""
    for case_plan in runner.plans(request.reference):
        runner.device.make_room(case_plan)
        runner.recorded(case_plan.case)
    runner.references(request.reference)
