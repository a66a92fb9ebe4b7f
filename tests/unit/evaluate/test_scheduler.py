"""Which variants are measured together, and what is measured again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gi_cuda.backends.protocol.requests import (
    Measure,
    Program,
    Refused,
    Sampling,
    SharedMeasurement,
)
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.backends.workers.pool import Alone, Lost, Task
from gi_cuda.evaluate.scheduler import MeasurementScheduler
from gi_cuda.results.measurement import Measurement, Survival

REFERENCE = Program(Binary(0, Path("0")), {}, ("train",))


def request(ident: int) -> tuple[int, Measure]:
    return ident, Measure(Program(Binary(ident, Path("1")), {}, ("train",)), REFERENCE, Sampling())


def fine(task: Task[int]) -> tuple[Measurement, ...]:
    """The answer of a worker that lived."""
    return tuple(Measurement(ident, Survival.NORMAL, 0.0) for ident in idents(task))


def shared(task: Task[int]) -> SharedMeasurement:
    asked = task[1].request if isinstance(task[1], Alone) else task[1]
    assert isinstance(asked, SharedMeasurement)
    return asked


def idents(task: Task[int]) -> list[int]:
    return [program.binary.ident for program in shared(task).variants]


def next_task(tasks: Iterator[Task[int] | None]) -> Task[int]:
    return next(task for task in tasks if task is not None)


def test_variants_are_measured_together_and_what_is_left_over_too() -> None:
    scheduler = MeasurementScheduler(3)
    tasks = scheduler.tasks(request(ident) for ident in range(1, 6))
    first, second = next_task(tasks), next_task(tasks)
    assert [idents(first), idents(second)] == [[1, 2, 3], [4, 5]]
    for task in (first, second):
        found = list(scheduler.results(task[0], fine(task)))
        assert [one.ident for one in found] == idents(task)
        assert not any(one.final for one in found)
    assert not any(tasks)


def test_no_variant_waits_for_company_while_there_is_nothing_else_to_do() -> None:
    tasks = MeasurementScheduler(3).tasks(iter([request(1), None]))
    assert idents(next_task(tasks)) == [1]


def test_tasks_go_on_while_answers_may_ask_for_more() -> None:
    scheduler = MeasurementScheduler(1)
    tasks = scheduler.tasks(iter([request(1)]))
    first = next_task(tasks)
    assert next(tasks) is None
    list(scheduler.results(first[0], fine(first)))
    scheduler.repeat(1)
    again = next_task(tasks)
    assert isinstance(again[1], Alone)
    (result,) = scheduler.results(again[0], fine(again))
    assert result.final
    assert not any(tasks)


def test_one_that_takes_its_worker_down_is_told_from_the_others_which_are_measured_again() -> None:
    scheduler = MeasurementScheduler(3)
    tasks = scheduler.tasks(request(ident) for ident in range(1, 4))
    task = next_task(tasks)
    lost = Lost(Survival.HUNG, "over its time limit", suspect=2)
    (result,) = scheduler.results(task[0], lost)
    assert (result.ident, result.answer, result.final) == (2, lost, False)
    assert idents(next_task(tasks)) == [1, 3]


def test_where_nobody_knows_which_one_it_was_each_is_measured_by_itself() -> None:
    for answer in (Lost(Survival.CRASHED, "SIGSEGV"), Refused("no memory")):
        scheduler = MeasurementScheduler(3)
        tasks = scheduler.tasks(request(ident) for ident in range(1, 4))
        assert not list(scheduler.results(next_task(tasks)[0], answer))
        assert [idents(next_task(tasks)) for _ in range(3)] == [[1], [2], [3]]


def test_whether_it_hung_or_crashed_is_waited_for_only_when_it_counts() -> None:
    scheduler = MeasurementScheduler(1)
    tasks = scheduler.tasks(iter([request(1)]))
    assert shared(next_task(tasks)).sampling.grace == 0
    scheduler.repeat(1)
    assert shared(next_task(tasks)).sampling.grace > 0


def test_what_takes_its_worker_down_in_a_rehearsal_does_so_once() -> None:
    scheduler = MeasurementScheduler(3, rehearsal=True)
    tasks = scheduler.tasks(request(ident) for ident in range(1, 4))
    task = next_task(tasks)
    assert shared(task).sampling.grace > 0
    lost = Lost(Survival.CRASHED, "an illegal instruction", suspect=2)
    (result,) = scheduler.results(task[0], lost)
    assert (result.ident, result.answer, result.final) == (2, lost, True)
    again = next_task(tasks)
    assert idents(again) == [1, 3]
    assert all(one.final for one in scheduler.results(again[0], fine(again)))
    assert not any(tasks)
