"""Measure variants beside the reference: verify, time in turn, verify again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from gi_cuda.backends.protocol.device import LaunchRefused, Timed, TimedRun
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import GetReady, Measure, Refused, SharedMeasurement
from gi_cuda.backends.workers.answering.verifying import Verifier
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.pace import Pace
from gi_cuda.backends.workers.cases.variant_runner import VariantRunner
from gi_cuda.results.measurement import Measurement, Sample
from gi_cuda.results.verdict import is_settled


def measure(case_runner: CaseRunner, request: Measure) -> Measurement:
    """Verify a variant, time it beside the reference, verify it again.

    Both are timed at several addresses in memory.

    Raises:
        LaunchRefused: the device refuses the variant.
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
            # One of them wrote where it must not, and it is not known which.
            for place in fit:
                request = Measure(shared.variants[place], shared.reference, shared.sampling)
                alone[place] = _or_refused(case_runner, request)
        else:
            verifier.verify_again(fit)
        return tuple(alone.get(at, one) for at, one in enumerate(verifier.answers()))
    finally:
        verifier.leave()


def _or_refused(case_runner: CaseRunner, request: Measure) -> Measurement | Refused:
    """Measure a variant as :func:`measure` does, or return why it is refused."""
    try:
        return measure(case_runner, request)
    except LaunchRefused as error:
        return Refused(str(error), room=error.room)


def _time(
    case_runner: CaseRunner, runners: Sequence[VariantRunner], base: Program, sampling: Sampling
) -> None:
    """Time variants and the reference in turn on each case, as often as the rules require.

    A variant drops out when it needs no more pairs. The reference's copies in memory take turns.
    """
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
    """Runs of each variant and the reference on one case, in the same draw. The order alternates.

    Attributes:
        number: number of the repetition and of the draw.
        runners: the variants.
        reference: the reference's run.
        place: index of the timed case.
        pace: number of runs of each, whose median is its time.
    """

    number: int
    runners: Sequence[VariantRunner]
    reference: TimedRun
    place: int
    pace: Pace

    def once(self) -> list[TimedRun]:
        """Return one run of each."""
        runs = [one.run_to_time(self.place, self.number) for one in self.runners]
        return [*runs, self.reference]

    def runs(self) -> list[TimedRun]:
        """Return all runs in order."""
        runs = self.once()
        return (runs if self.number % 2 == 0 else runs[::-1]) * self.pace.repeats

    def pairs(self, done: Iterator[Timed]) -> list[tuple[Sample, bool]]:
        """Return for each variant a sample, and whether its outputs were those of before.

        Args:
            done: results of the runs in order.
        """
        each = len(self.runners) + 1
        mine = list(islice(done, each * self.pace.repeats))
        turns = [mine[at::each] for at in range(each)]
        *variants, reference = turns if self.number % 2 == 0 else turns[::-1]
        case, base = self.reference.plan.case, _median(reference)
        return [
            (Sample(case, _median(one), base), all(run.agrees for run in one)) for one in variants
        ]


def in_order(cases: Sequence[Sequence[Repetition]]) -> list[TimedRun]:
    """Return all runs of repetitions, one case after the other, each after its warm-up runs."""
    return [
        run
        for mine in cases
        for run in (*_warming(mine), *(run for one in mine for run in one.runs()))
    ]


def _warming(mine: Sequence[Repetition]) -> list[TimedRun]:
    """Return the warm-up runs, which do not count."""
    return mine[0].once() if mine[0].pace.warmed else []


def pairs_of(
    cases: Sequence[Sequence[Repetition]], done: Iterator[Timed]
) -> Iterator[list[tuple[Sample, bool]]]:
    """Yield the samples of each repetition.

    Args:
        done: results of the runs of :func:`in_order`.
    """
    for mine in cases:
        for _ in _warming(mine):
            next(done)
        yield from (one.pairs(done) for one in mine)


def _median(runs: Sequence[Timed]) -> float:
    return median(one.seconds for one in runs)


def _stages(sampling: Sampling) -> list[int]:
    """Return the numbers of pairs after which a variant may drop out.

    One of them is 1, unless all pairs are wanted from the start.
    """
    if sampling.screen >= sampling.most:
        return [sampling.most]
    return [1, *range(sampling.screen, sampling.most, sampling.step), sampling.most]


def get_ready(runner: CaseRunner, request: GetReady) -> None:
    """Do ahead of time everything that would delay the first measurement."""
    for case_plan in runner.plans(request.reference):
        runner.device.make_room(case_plan)
        runner.recorded(case_plan.case)
    runner.references(request.reference)
