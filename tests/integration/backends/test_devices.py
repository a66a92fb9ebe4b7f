"""A pool with several devices: processors stand for two of them, each with workers of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Lost, Pool, Task
from gi_cuda.backends.workers.tasks import Unanswered
from gi_cuda.errors import DeviceLost, UserError
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.reference.baseline import compile_reference, establish
from gi_cuda.evaluate.reference.copies import COPIES
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools
from gi_cuda.subject import Subject

LAST = "        out[at] = mine;\n"
LIMIT = 0.5
"""Seconds of processor time after which a variant has hung; right ones take milliseconds."""

TWO = (DeviceId(0, "device 0"), DeviceId(1, "device 1"))

GENOTYPES = {
    1: "<_kernel.cu_12>",
    2: "<for2_kernel.cu_26>",
    3: "BLOCK=32",
    4: "<_kernel.cu_31>",
    5: "REPEAT=2",
    6: "<_kernel.cu_27>",
    7: "<_kernel.cu_22>",
}


@contextmanager
def on_two(tools: Tools) -> Iterator[Tools]:
    """The same tools with workers on two devices."""
    with Pool[int](tools.session, Crew(1, extra=1), TWO) as pool:
        yield replace(tools, pool=pool)


@pytest.fixture(scope="module")
def programs(scale: Subject, scale_tools: Tools) -> dict[str, Program]:
    """The reference, whose answers are recorded, and variants that end in several ways."""
    source = scale.grammar.source.text
    texts = {
        "reference": source,
        "fine": source,
        "endless": source.replace(LAST, "        for (;;) { __threadfence(); }\n"),
        "wrong": source.replace(LAST, ""),
    }
    binaries = compile_reference(
        scale, scale_tools.compiler, list(texts.values()), scale_tools.scratch("devices")
    )
    configuration = dict(scale.original.configuration)
    cases = (*scale_tools.train(), *scale_tools.held_out())
    made = {
        name: Program(binary, configuration, cases)
        for name, binary in zip(texts, binaries, strict=True)
    }
    scale_tools.pool.one(Record(made["reference"], scale_tools.reference, 2, 10.0))
    return made


def measure(programs: dict[str, Program], name: str, limit: float = 0.2) -> Measure:
    sampling = Sampling(screen=3, most=3, limit=limit)
    return Measure(programs[name], programs["reference"], sampling)


def test_what_is_asked_goes_to_the_device_that_has_least_to_do(
    scale_tools: Tools, programs: dict[str, Program]
) -> None:
    with on_two(scale_tools) as tools:
        fine = measure(programs, "fine")
        assert [tools.pool.submit(Task(n, fine)) for n in range(3)] == [0, 1, 0]
        tools.pool.abandon()
        names = ["fine", "endless", "wrong"] * 3
        answers = dict(tools.pool.map((n, measure(programs, x)) for n, x in enumerate(names)))
    assert sorted(answers) == list(range(len(names)))
    for number, name in enumerate(names):
        answer = answers[number]
        assert isinstance(answer, Lost if name == "endless" else Measurement), name
        assert isinstance(answer, Lost) or answer.correct == (name == "fine")


def test_something_may_be_asked_of_each_device(
    scale_tools: Tools, programs: dict[str, Program]
) -> None:
    with on_two(scale_tools) as tools:
        answers = tools.pool.each(measure(programs, "fine"))
        assert list(answers) == [0, 1]
        assert all(isinstance(one, Measurement) and one.correct for one in answers.values())


def test_what_a_device_had_to_do_when_it_was_left_is_not_answered(
    scale_tools: Tools, programs: dict[str, Program], capfd: pytest.CaptureFixture[str]
) -> None:
    with on_two(scale_tools) as tools:
        pool = tools.pool
        pool.each(measure(programs, "fine"))
        tasks = [Task(n, measure(programs, "endless", 60.0)) for n in (1, 2)]
        assert [pool.submit(task) for task in tasks] == [0, 1]
        pool.leave(1, DeviceLost("it fell off the bus"))
        assert list(pool.devices) == [0]
        assert pool.wait() == [(2, Unanswered(tasks[1]))]
        pool.abandon()
        assert isinstance(pool.one(measure(programs, "fine")), Measurement)
        said = capfd.readouterr().err
        assert "device 1 is not used any more: it fell off the bus; going on with device 0" in said
        with pytest.raises(DeviceLost, match="all is lost"):
            pool.leave(0, DeviceLost("all is lost"))


def unable(pool: Pool[int], device: int) -> tuple[Connection, Connection]:
    """From now on a device's worker says that it cannot open it. What comes back keeps open what
    has to stay so."""
    ours, theirs = Pipe()
    theirs.send(UserError("the driver sees no device"))
    (worker,) = pool._devices[device]._workers.values()
    before, worker.connection = worker.connection, ours
    return before, theirs


def test_a_device_that_cannot_be_opened_any_more_is_left_and_another_one_does_its_work(
    scale_tools: Tools, programs: dict[str, Program], capfd: pytest.CaptureFixture[str]
) -> None:
    with Pool[int](scale_tools.session, Crew(1), TWO) as pool:
        pool.each(measure(programs, "fine"))
        kept = unable(pool, 1)
        answers = dict(pool.map((n, measure(programs, "fine")) for n in range(4)))
        assert sorted(answers) == [0, 1, 2, 3]
        assert all(isinstance(one, Measurement) for one in answers.values())
        assert list(pool.devices) == [0]
        for one in kept:
            one.close()
        assert "the driver sees no device; going on with device 0" in capfd.readouterr().err


def test_the_baseline_knows_each_device(scale_tools: Tools, tmp_path: Path) -> None:
    with on_two(scale_tools) as tools:
        baseline = establish(
            tools.subject, tools.compiler, tools.pool, tmp_path, scale_tools.reference
        )
        used = len(tools.pool.devices)  # a processor may be busy with something else
    assert len(baseline.on_each) == (used if used > 1 else 0)
    assert baseline.seconds == max(baseline.on_each, default=baseline.seconds)
    assert len(baseline.copies) == COPIES * used


def records(tools: Tools) -> Iterator[tuple[int, Evaluation]]:
    """Yield the results of some individuals."""
    subject = tools.subject
    limits = {loop.ident: 10_000 for loop in subject.grammar.loops}
    bounds = Bounds(limits, Sampling(screen=2, step=1, most=2, limit=LIMIT))
    evaluator = Evaluator(subject, tools.equipment(), bounds)
    genotypes = {n: subject.read(text) for n, text in GENOTYPES.items()}
    yield from evaluator.evaluate(evaluator.prepare(genotypes))


Outcomes = dict[int, tuple[Survival, bool]]


def outcome(one: Evaluation) -> tuple[Survival, bool]:
    return one.survival, one.right


@pytest.fixture(scope="module")
def alone(scale_tools: Tools, programs: dict[str, Program]) -> Outcomes:
    """Return the outcomes of the batch on one device."""
    found = {n: outcome(one) for n, one in records(scale_tools)}
    assert len(set(found.values())) > 2
    return found


def test_a_batch_is_judged_on_two_devices_as_on_one(scale_tools: Tools, alone: Outcomes) -> None:
    with on_two(scale_tools) as tools:
        assert {n: outcome(one) for n, one in records(tools)} == alone


def test_a_batch_that_loses_a_device_is_judged_as_if_there_had_been_one(
    scale_tools: Tools, alone: Outcomes
) -> None:
    with on_two(scale_tools) as tools:
        found = {}
        for number, one in records(tools):
            found[number] = outcome(one)
            tools.pool.leave(1, DeviceLost("gone"))
        assert found == alone
        assert list(tools.pool.devices) == [0]


class FallingOff(Pool[int]):
    """A pool of which one device dies over all it is asked; no processor does that by itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._where: dict[int, int] = {}

    def submit(self, task: Task[int], device: int | None = None) -> int:
        self._where[task.key] = super().submit(task, device)
        return self._where[task.key]

    def wait(self, timeout: float | None = None, *others: int) -> list[tuple[int, Any]]:
        lost = Lost(Survival.CRASHED, "an illegal address")
        return [
            (key, lost if self._where[key] == 1 and not isinstance(answer, Unanswered) else answer)
            for key, answer in super().wait(timeout, *others)
        ]


def test_a_device_on_which_not_even_the_reference_works_is_left_and_blamed(
    scale_tools: Tools,
    alone: Outcomes,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with FallingOff(scale_tools.session, Crew(1, extra=1), TWO) as pool:
        found = {n: outcome(one) for n, one in records(replace(scale_tools, pool=pool))}
        assert list(pool.devices) == [0]
    assert found == alone
    said = capfd.readouterr().err
    assert "device 1 is not used any more: the unmodified kernel fails, too" in said
