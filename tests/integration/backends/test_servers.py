"""Pools that continue with the fork server of another pool, which has made the cases already."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.requests import TellInputs
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers.device_workers import Crew, DeviceWorkers
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError, WorkerFault
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS
from gi_cuda.spec import load_target
from gi_cuda.subject import load_subject
from tests.noting import seeds_made


def told(pool: Pool[int]) -> set[str]:
    """The cases that a worker has."""
    return set(pool.one(TellInputs()).given)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def released(session: Session) -> ForkServer:
    """The server of a pool that has answered once."""
    with Pool[int](session, Crew(2)) as pool:
        assert told(pool) == set(session.cases)
        return pool.release()


def test_cases_are_made_once(noting: Path, tmp_path: Path) -> None:
    target = load_target(noting)
    server = released(Session(target, "host", ("train", "held-out"), tmp_path))
    assert seeds_made(noting) == ["1", "2"]
    more = replace(target.cases[0], name="more", args={"seed": 3, "n": 100})
    longer = replace(target, cases=(*target.cases, more))
    names = ("train", "held-out", "more")
    with Pool[int](Session(longer, "host", names, tmp_path / "other"), Crew(2), (), server) as pool:
        assert told(pool) == set(names)
        assert pool.process_id == server.process_id
    assert seeds_made(noting) == ["1", "2", "3"]
    assert not is_there(server.process_id)


def test_another_case_of_the_same_name_is_made(noting: Path, tmp_path: Path) -> None:
    target = load_target(noting)
    server = released(Session(target, "host", ("train",), tmp_path))
    other = replace(target, cases=(replace(target.cases[0], args={"seed": 7, "n": 100}),))
    with Pool[int](Session(other, "host", ("train",), tmp_path), Crew(1), (), server) as pool:
        assert told(pool) == {"train"}
    assert seeds_made(noting) == ["1", "7"]


def test_what_is_wrong_with_another_case_is_said(noting: Path, tmp_path: Path) -> None:
    target = load_target(noting)
    server = released(Session(target, "host", ("train",), tmp_path))
    other = replace(target, cases=(replace(target.cases[0], args={"seed": -1, "n": 100}),))
    with (
        Pool[int](Session(other, "host", ("train",), tmp_path), Crew(1), (), server) as pool,
        pytest.raises(UserError, match="case"),
    ):
        told(pool)


def test_a_run_makes_its_cases_once(noting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a user names its target: a run remembers where it lies, which is another name."""
    monkeypatch.chdir(noting.parent)
    settings = PRESETS["random"].settings.having(4, 1)
    plan = Plan("random", settings, 1, 1, 1)
    with create_run(load_subject(Path(noting.name), "host"), Path("run"), plan) as run:
        for _ in run.evolution().run():
            pass
        assert len(run.store.evaluations()) == 4
    made = seeds_made(noting)
    assert made.count("1") == made.count("2") == 1


def test_a_pool_of_another_process_has_the_cases_that_are_there(
    noting: Path, tmp_path: Path
) -> None:
    target = load_target(noting)
    session = Session(target, "host", ("train", "held-out"), tmp_path)
    with Pool[int](session, Crew(2)) as lender:
        borrowed = ForkServer.borrowed(lender.lend())
        with Pool[int](session, Crew(2), (), borrowed) as pool:
            assert pool.process_id == lender.process_id
            assert told(pool) == told(lender) == set(session.cases)
            workers = _children(lender.process_id)
            assert len(workers) == 2
        left = _children(lender.process_id)
        assert len(left) == 1, "its worker ends with a pool"
        assert left < workers, "that of another pool does not"
        assert told(lender) == set(session.cases)
    assert seeds_made(noting) == ["1", "2"]


def test_a_pool_outlives_one_that_borrowed_its_server_and_was_refused(
    noting: Path, tmp_path: Path
) -> None:
    target = load_target(noting)
    other = replace(target, cases=(replace(target.cases[0], args={"seed": -1, "n": 100}),))
    with Pool[int](Session(target, "host", ("train",), tmp_path), Crew(1)) as lender:
        borrowed = ForkServer.borrowed(lender.lend())
        wrong = Session(other, "host", ("train",), tmp_path)
        with (
            Pool[int](wrong, Crew(1), (), borrowed) as pool,
            pytest.raises(UserError, match="case"),
        ):
            told(pool)
        assert told(lender) == {"train"}


def test_a_borrowed_server_ends_with_its_own_pool(noting: Path, tmp_path: Path) -> None:
    session = Session(load_target(noting), "host", ("train",), tmp_path)
    with Pool[int](session, Crew(1)) as lender:
        borrowed = ForkServer.borrowed(lender.lend())
        pool = Pool[int](session, Crew(1), (), borrowed)
        assert told(pool) == {"train"}
    with closing(pool), pytest.raises(WorkerFault, match="the process that forks workers is gone"):
        told(pool)


def _children(process: int) -> set[int]:
    """The numbers of a process's children that have not ended."""
    numbers = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return {int(one) for one in numbers if not _has_ended(int(one))}


def _has_ended(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def test_workers_may_be_started_while_others_are_left(
    noting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread does that if Ctrl-C ends its work."""
    session = Session(load_target(noting), "host", ("train",), tmp_path / "reference")
    leave, left = Connection.close, list[int]()
    with closing(ForkServer.started(session)) as server:
        workers = DeviceWorkers[int](server, session.device, Crew(1, extra=2, reserve=4))
        workers.restock()

        def close(connection: Connection) -> None:
            left.append(connection.fileno())
            if len(left) == 1:
                workers.deaths += 4
                workers.restock()
            leave(connection)

        with monkeypatch.context() as patched:
            patched.setattr(Connection, "close", close)
            workers.close()
    assert len(left) >= 2
