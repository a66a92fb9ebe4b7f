"""Grouping of variants for measurement, and repeated measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path

from gi_cuda.backends.protocol.programs import Program, Sampling, Siblings
from gi_cuda.backends.protocol.requests import (
    Measure,
    Refused,
    Rehearse,
    SharedMeasurement,
)
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.backends.workers.pool import Lost, Task, Wants
from gi_cuda.evaluate.batches.scheduler import PATIENCE, MeasurementScheduler
from gi_cuda.results.measurement import Measurement, Survival

REFERENCE = Program(Binary(0, Path("0")), {}, ("train",))


def scheduler(together: int, variants: Iterable[int], **others: int) -> MeasurementScheduler:
    """One that has all of some variants."""
    made = MeasurementScheduler(together, count(1), **others)  # type: ignore[arg-type]
    for ident in variants:
        program = Program(Binary(ident, Path("1")), {}, ("train",))
        made.add(ident, Measure(program, REFERENCE, Sampling()))
    return made


def fine(task: Task[int]) -> tuple[Measurement, ...]:
    """The answer of a worker that lived."""
    return tuple(Measurement(ident, Survival.NORMAL, 0.0) for ident in idents(task))


def shared(task: Task[int]) -> SharedMeasurement:
    assert isinstance(task.request, SharedMeasurement)
    return task.request


def idents(task: Task[int]) -> list[int]:
    assert isinstance(task.request, SharedMeasurement | Rehearse)
    return [program.binary.ident for program in task.request.variants]


def next_task(some: MeasurementScheduler, *, more: bool = False) -> Task[int]:
    task = some.next(more=more)
    assert task is not None
    return task


def test_what_is_faster_by_far_may_run_on_the_siblings_at_once() -> None:
    some = scheduler(4, [])
    program = Program(Binary(1, Path("1")), {}, ("train",))
    sampling = Sampling(floor=0.02, siblings=Siblings(("sibling",), 2.0))
    for at_once, below in ((False, 0.0), (True, 0.8)):
        some.add(1, Measure(program, REFERENCE, sampling))
        task = some.next(more=False, at_once=at_once)
        assert task is not None
        assert shared(task).sampling.siblings == Siblings(("sibling",), 2.0, below)
        (told,) = some.results(task.key, fine(task))
        assert told.elsewhere is at_once
        assert not told.confirmed


def test_a_rehearsal_runs_on_no_siblings() -> None:
    some = scheduler(4, [1], rehearsal=True)
    task = some.next(more=False, at_once=True)
    assert task is not None
    (told,) = some.results(task.key, fine(task))
    assert not told.elsewhere


def test_what_is_confirmed_runs_on_the_siblings_whatever_it_took() -> None:
    some = scheduler(4, [])
    program = Program(Binary(1, Path("1")), {}, ("train",))
    sampling = Sampling(siblings=Siblings(("sibling",), 2.0))
    some.add(1, Measure(program, REFERENCE, sampling))
    list(some.results((first := next_task(some)).key, fine(first)))
    some.confirm(1)
    task = next_task(some)
    assert shared(task).sampling == sampling
    (told,) = some.results(task.key, fine(task))
    assert told.elsewhere
    assert told.confirmed


def test_those_that_are_measured_in_another_way_are_measured_apart() -> None:
    some = scheduler(4, range(1, 4))
    program = Program(Binary(2, Path("1")), {}, ("sibling",))
    others = Sampling(limit=2.0)
    task = next_task(some)
    assert idents(task) == [1, 2, 3]
    list(some.results(task.key, fine(task)))
    some.add(2, Measure(program, REFERENCE, others))
    for ident in (4, 5):
        some.add(ident, Measure(Program(Binary(ident, Path("1")), {}, ()), REFERENCE, Sampling()))
    some.add(1, Measure(replace(program, binary=Binary(1, Path("1"))), REFERENCE, others))
    first, second = next_task(some), next_task(some)
    assert [idents(first), idents(second)] == [[2, 1], [4, 5]]
    assert shared(first).sampling.limit == others.limit


def test_variants_are_measured_together_and_what_is_left_over_too() -> None:
    some = scheduler(3, range(1, 6))
    first, second = next_task(some), next_task(some)
    assert [idents(first), idents(second)] == [[1, 2, 3], [4, 5]]
    for task in (first, second):
        assert not some.idle
        found = list(some.results(task.key, fine(task)))
        assert [one.ident for one in found] == idents(task)
        assert not any(one.final for one in found)
    assert some.idle
    assert some.next(more=False) is None


def test_no_variant_waits_for_company_while_there_is_nothing_else_to_do() -> None:
    some = scheduler(3, [1])
    first = next_task(some, more=True)
    assert idents(first) == [1]
    for ident in (2, 3):
        some.add(ident, Measure(shared(first).variants[0], REFERENCE, Sampling()))
    assert some.next(more=True) is None
    list(some.results(first.key, fine(first)))
    assert len(shared(next_task(some, more=True)).variants) == 2


def test_one_that_is_to_be_repeated_is_measured_alone_and_that_is_final() -> None:
    some = scheduler(1, [1])
    first = next_task(some)
    assert some.next(more=False) is None
    list(some.results(first.key, fine(first)))
    some.repeat(1)
    again = next_task(some)
    assert again.alone
    (result,) = some.results(again.key, fine(again))
    assert result.final
    assert some.idle


def test_what_looks_faster_is_measured_again_in_a_fresh_worker_with_others_like_it() -> None:
    some = scheduler(2, range(1, 5))
    first, second = next_task(some), next_task(some)
    assert not any(one.confirmed for one in some.results(first.key, fine(first)))
    some.confirm(1)
    assert some.next(more=False) is None  # the others may need it, too
    assert not some.idle
    list(some.results(second.key, fine(second)))
    some.confirm(4)
    again = next_task(some)
    assert again.alone
    assert idents(again) == [1, 4]
    results = list(some.results(again.key, fine(again)))
    assert all(one.confirmed for one in results)
    assert not any(one.own for one in results)
    assert some.idle


def test_one_that_looks_faster_waits_for_others_while_something_is_measured() -> None:
    some = scheduler(2, range(1, 5))
    first, second = next_task(some), next_task(some)
    list(some.results(first.key, fine(first)))
    some.confirm(1)
    assert some.next(more=True) is None
    list(some.results(second.key, fine(second)))
    confirming = next_task(some, more=True)
    assert confirming.alone
    assert idents(confirming) == [1]


def test_what_looks_faster_while_others_are_confirmed_waits_for_company() -> None:
    some = scheduler(2, [1, 2])
    list(some.results((task := next_task(some)).key, fine(task)))
    some.confirm(1)
    first = next_task(some, more=True)
    some.confirm(2)
    assert some.next(more=True) is None
    list(some.results(first.key, fine(first)))
    assert idents(next_task(some, more=True)) == [2]


def test_one_that_looks_faster_does_not_wait_for_others_to_be_confirmed() -> None:
    """None of these will look faster and join it."""
    some = scheduler(2, range(1, 7))
    first, second, third = (next_task(some) for _ in range(3))
    for task in (first, second):
        list(some.results(task.key, fine(task)))
    for ident in range(1, 5):
        some.confirm(ident)
    confirming = next_task(some)
    assert idents(confirming) == [1, 2, 3, 4]
    list(some.results(third.key, fine(third)))
    some.confirm(5)
    assert idents(next_task(some)) == [5]


def test_one_that_takes_its_worker_down_is_told_from_the_others_which_are_measured_again() -> None:
    some = scheduler(3, range(1, 4))
    task = next_task(some)
    lost = Lost(Survival.HUNG, "over its time limit", suspect=2)
    (result,) = some.results(task.key, lost)
    assert (result.ident, result.answer, result.final) == (2, lost, False)
    assert idents(next_task(some)) == [1, 3]


def test_where_nobody_knows_which_one_it_was_each_is_measured_by_itself() -> None:
    for answer in (Lost(Survival.CRASHED, "SIGSEGV"), Refused("no memory")):
        some = scheduler(3, range(1, 4))
        assert not list(some.results(next_task(some).key, answer))
        assert [idents(next_task(some)) for _ in range(3)] == [[1], [2], [3]]


def test_a_crash_that_the_device_tells_of_is_final_and_a_hang_may_have_been_a_wait() -> None:
    for survival, final in ((Survival.CRASHED, True), (Survival.HUNG, False)):
        some = scheduler(3, range(1, 4))
        lost = Lost(survival, "an illegal memory access", suspect=2)
        (result,) = some.results(next_task(some).key, lost)
        assert (result.ident, result.own, result.final) == (2, final, final)


def test_what_takes_its_worker_down_in_a_rehearsal_does_so_once() -> None:
    some = scheduler(3, range(1, 4), rehearsal=True)
    task = next_task(some)
    assert isinstance(task.request, Rehearse)
    lost = Lost(Survival.CRASHED, "an illegal instruction", suspect=2)
    (result,) = some.results(task.key, lost)
    assert (result.ident, result.answer, result.final) == (2, lost, True)
    again = next_task(some)
    assert idents(again) == [1, 3]
    results = list(some.results(again.key, fine(again)))
    assert [(one.ident, one.final) for one in results] == [(1, True), (3, True)]
    assert some.idle


def test_confirmations_may_share_a_worker_and_what_died_there_is_by_itself_in_a_fresh_one() -> None:
    some = scheduler(2, range(1, 5))
    for task in (next_task(some), next_task(some)):
        list(some.results(task.key, fine(task)))
    for ident in range(1, 5):
        some.confirm(ident)
    confirming = next_task(some)
    assert confirming.wants is Wants.ALIKE
    lost = Lost(Survival.CRASHED, "signal 11")
    assert list(some.results(confirming.key, lost)) == []
    again = [next_task(some) for _ in range(4)]
    assert {task.wants for task in again} == {Wants.FRESH}
    results = [one for task in again for one in some.results(task.key, fine(task))]
    assert [(one.ident, one.confirmed, one.own) for one in results] == [
        (ident, True, True) for ident in range(1, 5)
    ]


def test_one_that_dies_by_itself_where_others_were_confirmed_has_not_died_of_itself_yet() -> None:
    some = scheduler(1, [1])
    list(some.results((task := next_task(some)).key, fine(task)))
    some.confirm(1)
    confirming = next_task(some)
    assert (confirming.wants, idents(confirming)) == (Wants.ALIKE, [1])
    (result,) = some.results(confirming.key, Lost(Survival.HUNG, "over its time limit"))
    assert (result.own, result.final) == (False, False)
    some.repeat(1)
    assert next_task(some).wants is Wants.FRESH


def test_one_that_looks_faster_does_not_wait_for_ever_where_there_is_always_more_to_come() -> None:
    some = scheduler(1, range(1, 100))
    first = next_task(some, more=True)
    list(some.results(first.key, fine(first)))
    some.confirm(1)
    begun = [first, *(next_task(some, more=True) for _ in range(PATIENCE))]
    some.confirm(2)
    begun += [next_task(some, more=True) for _ in range(PATIENCE + 1)]
    others = [False] * PATIENCE
    assert [task.alone for task in begun] == [*others, True, *others, True]
    assert [idents(one) for one in begun if one.alone] == [[1], [2]]
    assert not next_task(some, more=True).alone


def test_what_nobody_will_answer_is_measured_as_it_was_to_be() -> None:
    some = scheduler(2, range(1, 4))
    first, second = next_task(some), next_task(some)
    some.again(first.key)
    again = next_task(some)
    assert idents(again) == [1, 2]
    assert not again.alone
    assert again.key not in (first.key, second.key)


def test_devices_share_what_is_to_be_confirmed_at_the_end() -> None:
    some = scheduler(8, range(1, 9), devices=2)
    list(some.results((task := next_task(some)).key, fine(task)))
    for ident in range(1, 6):
        some.confirm(ident)
    groups = [idents(next_task(some)), idents(next_task(some))]
    assert groups == [[1, 2, 3], [4, 5]]
    assert some.next(more=False) is None
