"""Compile shards of several builds in turn, limited by the number of jobs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from gi_cuda.backends.compile.compiler_slots import CompilerSlots, Turns
from gi_cuda.backends.process_registry import ProcessRegistry, Stopped


def begun(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def waits(at_work: CompilerSlots, number: int, beside: int = 1) -> None:
    """Return once so many wait, and so many are at work."""
    while (len(at_work._waiting), at_work.number) != (number, beside):
        pass


def test_they_begin_in_the_order_in_which_they_came() -> None:
    at_work, seen = CompilerSlots(), list[tuple[str, int]]()

    def compiled(name: str) -> None:
        with at_work.one(1):
            seen.append((name, at_work.number))

    with at_work.one(1):
        threads = []
        for number, name in enumerate("abc", start=1):
            threads.append(begun(lambda name=name: compiled(name)))  # type: ignore[misc]
            waits(at_work, number)
        assert not seen
        assert at_work.number == 1
    for thread in threads:
        thread.join(60.0)
    assert seen == [("a", 1), ("b", 1), ("c", 1)]
    assert at_work.number == 0


def test_what_is_nearer_to_its_end_goes_before_what_came_sooner() -> None:
    at_work, seen = CompilerSlots(), list[str]()

    def compiled(name: str, rank: int) -> None:
        with Turns(at_work, 1, rank).one():
            seen.append(name)

    with at_work.one(1):
        threads = []
        for number, (name, rank) in enumerate(zip("abcd", (1, 0, 1, 0), strict=True), start=1):
            threads.append(begun(lambda name=name, rank=rank: compiled(name, rank)))  # type: ignore[misc]
            waits(at_work, number)
    for thread in threads:
        thread.join(60.0)
    assert seen == ["b", "d", "a", "c"]


def test_as_many_begin_at_a_time_as_there_are_jobs() -> None:
    at_work, inside, go_on = CompilerSlots(), [Event() for _ in range(3)], Event()

    def compiled(entered: Event) -> None:
        with at_work.one(2):
            entered.set()
            assert go_on.wait(60.0)

    threads = [begun(lambda one=one: compiled(one)) for one in inside]  # type: ignore[misc]
    waits(at_work, 1, beside=2)
    assert sum(one.is_set() for one in inside) <= 2
    go_on.set()
    for thread in threads:
        thread.join(60.0)
    assert all(one.is_set() for one in inside)


def test_what_waits_and_is_not_wanted_any_more_gives_up_its_turn() -> None:
    at_work, above, ended = CompilerSlots(), ProcessRegistry(), list[type[BaseException]]()

    def compiled() -> None:
        try:
            with above.held(), at_work.one(1):
                raise AssertionError("it was not its turn")
        except Stopped as error:
            ended.append(type(error))

    with at_work.one(1):
        thread = begun(compiled)
        waits(at_work, 1)
        above.cut()
        thread.join(60.0)
        assert ended == [Stopped]
        assert at_work.number == 1
    with at_work.one(1):
        assert at_work.number == 1
