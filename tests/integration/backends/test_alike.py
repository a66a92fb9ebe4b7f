"""Assignment of requests to workers: fresh workers are expensive; some requests may share one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.requests import (
    Inputs,
    TellInputs,
)
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers.device_workers import Crew
from gi_cuda.backends.workers.pool import Pool, Task, Wants
from gi_cuda.subject import Subject


@pytest.fixture
def session(scale: Subject, tmp_path: Path) -> Session:
    return Session(scale.target, "host", ("train",), tmp_path)


def answering(pool: Pool[int], *wants: Wants) -> list[int]:
    """The processes that answer requests, one after the other."""
    return [process for one in wants for process in _answered(pool, one)]


def _answered(pool: Pool[int], wants: Wants) -> Iterator[int]:
    pool.submit(Task(1, TellInputs(), wants))
    (busy,) = [one.pid for one in pool._devices[0]._workers.values() if one.sent]
    while not (answers := pool.wait()):
        pass
    ((key, answer),) = answers
    assert (key, isinstance(answer, Inputs)) == (1, True)
    yield busy


def test_some_requests_share_a_worker_that_answers_no_others(session: Session) -> None:
    with Pool[int](session, Crew(1, extra=1, alike=3)) as pool:
        alike = answering(pool, *[Wants.ALIKE] * 2)
        assert len(set(alike)) == 1
        others = answering(pool, Wants.ANY, Wants.FRESH, Wants.ANY, Wants.FRESH)
        assert alike[0] not in others
        assert len({others[1], others[3]}) == 2
        assert answering(pool, Wants.ALIKE) == alike[:1]
        assert answering(pool, Wants.ALIKE) != alike[:1], "it has answered as many as it may"


def test_without_a_share_each_has_a_fresh_worker(session: Session) -> None:
    with Pool[int](session, Crew(1, extra=1)) as pool:
        assert len(set(answering(pool, *[Wants.ALIKE] * 3))) == 3


def test_one_that_answered_something_else_is_not_shared(session: Session) -> None:
    with Pool[int](session, Crew(1, extra=1, alike=3)) as pool:
        (first,) = answering(pool, Wants.ANY)
        (fresh,) = answering(pool, Wants.FRESH)
        assert answering(pool, Wants.ALIKE)[0] not in (first, fresh)


def test_no_more_are_kept_than_can_be_at_work_at_a_time(session: Session) -> None:
    with Pool[int](session, Crew(2, extra=1, alike=9)) as pool:
        for key in (1, 2, 3):
            pool.submit(Task(key, TellInputs(), Wants.ALIKE))
        left = {1, 2, 3}
        while left:
            left -= {key for key, _ in pool.wait()}
        assert len(pool._devices[0]._kept()) == 1


def test_a_series_begins_in_a_fresh_worker_and_stays_there(session: Session) -> None:
    with Pool[int](session, Crew(1, extra=1, alike=4)) as pool:
        (other,) = answering(pool, Wants.ALIKE)
        first, *more = answering(pool, Wants.FIRST, Wants.ALIKE, Wants.ALIKE)
        assert first != other
        assert more == [first, first]


def test_fresh_workers_are_made_beforehand_as_many_as_a_device_may_have(session: Session) -> None:
    with Pool[int](session, Crew(1, reserve=3)) as pool:
        pool.stock(2)
        stocked = set(pool._devices[0]._workers)
        assert len(stocked) == 2
        assert set(answering(pool, Wants.FRESH, Wants.FRESH)) == stocked
        pool.stock(9)
        assert len(pool._devices[0]._fresh()) == 3
