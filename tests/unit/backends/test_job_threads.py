"""Threads that share jobs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest

from gi_cuda.backends.job_threads import JobThreads, at_once
from gi_cuda.backends.process_registry import ProcessRegistry, process_registry


def test_every_job_is_done_once() -> None:
    crew: JobThreads[int, int]
    with JobThreads(lambda job: job * job, 3) as crew:
        for job in range(20):
            crew.submit(job)
        assert sorted(crew.next() for _ in range(20)) == [(job, job * job) for job in range(20)]


def test_what_a_job_raises_comes_out_where_its_result_is_asked_for() -> None:
    crew: JobThreads[int, int]
    with JobThreads(lambda job: 1 // job, 1) as crew:
        crew.submit(0)
        with pytest.raises(ZeroDivisionError):
            crew.next()


def test_leaving_waits_for_what_was_begun_and_drops_the_rest() -> None:
    begun, may_end, done = Event(), Event(), []

    def work(job: int) -> None:
        begun.set()
        may_end.wait()
        done.append(job)

    class Slow(JobThreads[int, None]):
        """One whose work ends only once nothing but ends of threads is waiting for it."""

        def __exit__(self, *reason: Any) -> None:
            Thread(target=self._end_work).start()
            super().__exit__(*reason)

        def _end_work(self) -> None:
            deadline = time.monotonic() + 20
            while self._jobs.qsize() > 1 and time.monotonic() < deadline:
                pass
            may_end.set()

    with Slow(work, 1) as crew:
        for job in range(3):
            crew.submit(job)
        begun.wait()
    assert done == [0]


@pytest.fixture
def interrupted() -> Iterator[Event]:
    """Set by the first Ctrl-C, which alone interrupts, even where tests run in the background."""
    came = Event()

    def interrupt(*_: object) -> None:
        if not came.is_set():
            came.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield came
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_the_waiting_though_the_work_goes_on(interrupted: Event) -> None:
    waiting, may_end = Event(), Event()

    def work(_: int) -> None:
        waiting.wait()
        # One that comes just before the main thread begins to wait is not noticed.
        while not interrupted.wait(0.01):
            os.kill(os.getpid(), signal.SIGINT)
        may_end.wait()

    def wait() -> None:
        waiting.set()
        crew.next()

    with JobThreads(work, 1) as crew:
        crew.submit(0)
        with pytest.raises(KeyboardInterrupt):
            wait()
        may_end.set()


def test_what_is_done_at_once_comes_in_order() -> None:
    """The second job waits for the third."""
    told = Event()

    def tell() -> str:
        told.set()
        return "third"

    jobs = (lambda: "first", lambda: "second" if told.wait(60) else "late", tell)
    assert at_once(jobs) == ["first", "second", "third"]
    assert at_once([]) == []


def test_what_is_done_at_once_is_held_by_the_same_leash_and_goes_on() -> None:
    own = ProcessRegistry(process_registry())
    with own.held():
        assert at_once([process_registry, process_registry]) == [own, own]
    assert not own.is_cut


def test_what_fails_of_what_is_done_at_once_fails_for_all() -> None:
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1, lambda: 1 // 0])
