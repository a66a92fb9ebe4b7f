"""Variants of one request are verified case by case, with a single wait for the device per case."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backends.host.running.device import HostDevice
from gi_cuda.backends.protocol.device import LaunchRefused, Loaded, TimedRun, Verified
from gi_cuda.backends.protocol.device_lock import DeviceLock, WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan, Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Refused,
    Rehearse,
    SharedMeasurement,
)
from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.answering.measuring import measure, measure_together
from gi_cuda.backends.workers.answering.recording import record
from gi_cuda.backends.workers.answering.rehearsing import rehearse
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement
from gi_cuda.spec import load_case
from gi_cuda.subject import Subject

LAST = "        out[at] = mine;\n"
SAMPLING = Sampling(screen=2, most=2, limit=10.0)


class Watched(HostDevice):
    """A device that says how it is used.

    Attributes:
        turns: how often it was taken.
        rounds: how many runs were verified without a pause, each time.
        refuses: number of a variant that it does not take once it is to run.
    """

    turns = 0
    refuses = -1

    def __init__(self, subject: Subject) -> None:
        cases = {one.name: load_case(subject.target, one) for one in subject.target.cases}
        slot = WorkerSlot(os.open(os.devnull, os.O_WRONLY), DeviceLock(), 0)
        super().__init__(subject.target, cases, slot)
        self.cases = cases
        self.rounds: list[int] = []

    @contextmanager
    def turn(self) -> Iterator[None]:
        self.turns += 1
        yield

    def make_ready(self, loaded: Loaded, plan: CasePlan) -> None:
        if loaded.binary.ident == self.refuses:
            raise LaunchRefused("too much of something")
        super().make_ready(loaded, plan)

    def verify(self, runs: Sequence[TimedRun], limit: float) -> list[Verified]:
        self.rounds.append(len(runs))
        return super().verify(runs, limit)


@pytest.fixture(scope="module")
def programs(scale: Subject, tmp_path_factory: pytest.TempPathFactory) -> list[Program]:
    """The reference, then variants of which the second and the last are wrong."""
    source = scale.grammar.source.text
    late = source.replace(LAST, "        out[at] = mine + (at == 500);\n")
    texts = [source, source, source.replace(LAST, ""), source, source, late]
    folder = tmp_path_factory.mktemp("verifying")
    binaries = compile_reference(scale, open_compiler(scale, 2), texts, folder)
    cases = tuple(one.name for one in scale.target.cases)
    return [Program(one, dict(scale.original.configuration), cases) for one in binaries]


@pytest.fixture
def runner(scale: Subject, programs: list[Program], tmp_path: Path) -> CaseRunner:
    device = Watched(scale)
    runner = CaseRunner(device, scale.target, device.cases, tmp_path)
    record(runner, Record(programs[0], tmp_path, 2, 10.0))
    device.turns = 0
    return runner


def said(answer: Measurement | Refused) -> tuple[bool, str]:
    assert isinstance(answer, Measurement)
    return answer.correct, answer.message


def test_each_is_judged_as_it_is_by_itself(programs: list[Program], runner: CaseRunner) -> None:
    reference, *variants = programs
    alone = [measure(runner, Measure(one, reference, SAMPLING)) for one in variants]
    shared = measure_together(runner, SharedMeasurement(tuple(variants), reference, SAMPLING))
    assert [said(one)[0] for one in alone] == [True, False, True, True, False]
    assert list(map(said, shared)) == list(map(said, alone))
    untimed = rehearse(runner, Rehearse(tuple(variants), SAMPLING.untimed()))
    assert list(map(said, untimed)) == list(map(said, alone))


@pytest.mark.parametrize("number", [1, 2, 4])
def test_more_variants_take_no_more_turns(
    number: int, programs: list[Program], runner: CaseRunner
) -> None:
    reference, fine, *_ = programs
    device = runner.device
    assert isinstance(device, Watched)
    measure_together(runner, SharedMeasurement((fine,) * number, reference, SAMPLING))
    cases = len(reference.cases)
    doubts = number > 1  # whether anything of the cases was written to, is asked then
    assert device.turns == cases + 1 + doubts + cases


def test_what_may_do_harm_is_waited_for_until_it_was_right(
    programs: list[Program], runner: CaseRunner
) -> None:
    """So that it is known whose crash it is; after that all run without a pause."""
    reference, one, wrong, other, *_ = programs
    device = runner.device
    assert isinstance(device, Watched)
    measure_together(runner, SharedMeasurement((one, wrong, other), reference, SAMPLING))
    cases = len(reference.cases)
    assert device.rounds == [1, 1, 1, *[1, 1] * (cases - 1), *[2] * cases]
    device.rounds.clear()
    rehearse(runner, Rehearse((one, wrong, other), SAMPLING.untimed()))
    assert device.rounds == [3, *[2] * (cases - 1)]


@pytest.mark.parametrize(("below", "elsewhere"), [(math.inf, True), (1e-6, False)])
def test_on_siblings_each_is_waited_for_that_is_fast_enough(
    below: float, elsewhere: bool, programs: list[Program], runner: CaseRunner
) -> None:
    """It never ran there."""
    reference, one, _, other, *_ = programs
    device = runner.device
    assert isinstance(device, Watched)
    sampling = replace(SAMPLING, siblings=Siblings(reference.cases[:1], 10.0, below))
    found = measure_together(runner, SharedMeasurement((one, other), reference, sampling))
    cases = len(reference.cases)
    assert device.rounds == [*[1, 1] * cases, *[2] * cases, *[1, 1] * elsewhere]
    assert all(isinstance(a, Measurement) and a.elsewhere is elsewhere for a in found)


def test_one_that_is_refused_takes_nobody_with_it(
    programs: list[Program], runner: CaseRunner
) -> None:
    reference, *variants = programs
    device = runner.device
    assert isinstance(device, Watched)
    device.refuses = variants[2].binary.ident
    shared = measure_together(runner, SharedMeasurement(tuple(variants), reference, SAMPLING))
    assert shared[2] == Refused("too much of something")
    assert [said(one)[0] for at, one in enumerate(shared) if at != 2] == [True, False, True, False]
    with pytest.raises(LaunchRefused, match="too much"):
        measure(runner, Measure(variants[2], reference, SAMPLING))
