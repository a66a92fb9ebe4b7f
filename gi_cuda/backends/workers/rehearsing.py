"""Verifying variants together that do no harm: their runs are rounds without a pause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gi_cuda.backends.protocol.device import LaunchRefused, TimedRun, Verified
from gi_cuda.backends.protocol.requests import Refused, Rehearse
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.variant_runner import VariantRunner
from gi_cuda.results.measurement import Measurement


def rehearse(case_runner: CaseRunner, request: Rehearse) -> tuple[Measurement | Refused, ...]:
    """Verify several variants, a case of each in a round; one that is wrong runs no more."""
    runners: dict[int, VariantRunner] = {}
    refused: dict[int, Refused] = {}
    waiting = {}
    try:
        for place, program in enumerate(request.variants):
            with _noted(refused, place):
                runners[place] = VariantRunner(case_runner, program, request.sampling)
                waiting[place] = iter(case_runner.plans_to_verify(program))
        while waiting:
            runs = {}
            for place, plans in waiting.items():
                with _noted(refused, place):
                    if plan := next(plans, None):
                        runs[place] = runners[place].run_on(plan)
            going = {}
            for place, one in _round(case_runner, runs, request.sampling.limit, refused).items():
                if runners[place].judged(runs[place], one):
                    going[place] = waiting[place]
            waiting = going
    finally:
        for runner in runners.values():
            runner.leave()
    return tuple(
        refused[place] if place in refused else runners[place].measurement()
        for place in range(len(request.variants))
    )


def _round(
    case_runner: CaseRunner,
    runs: Mapping[int, TimedRun],
    limit: float,
    refused: dict[int, Refused],
) -> dict[int, Verified]:
    """What became of runs; of those that the device does not take, that is noted."""
    device = case_runner.device
    with device.turn():
        try:
            return dict(zip(runs, device.verify(list(runs.values()), limit), strict=True))
        except LaunchRefused:
            found = {}
            for place, run in runs.items():
                with _noted(refused, place):
                    (found[place],) = device.verify([run], limit)
            return found


@contextmanager
def _noted(refused: dict[int, Refused], place: int) -> Iterator[None]:
    """Inside, a variant may be refused."""
    try:
        yield
    except LaunchRefused as error:
        refused[place] = Refused(str(error), room=error.room)
