"""A pool goes on with the fork server of another one: cases that are there are not made again."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.requests import TellInputs
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers.device_workers import Crew, DeviceWorkers
from gi_cuda.backends.workers.fork_server import ForkServer
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.errors import UserError
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS
from gi_cuda.spec import load_target
from gi_cuda.subject import load_subject

SCALE = Path(__file__).parents[2] / "targets" / "scale"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A target that writes down which cases are made."""
    made = tmp_path / "scale"
    shutil.copytree(SCALE, made, ignore=shutil.ignore_patterns("__pycache__"))
    data = made / "data.py"
    note = (
        f'    with open({str(tmp_path / "made")!r}, "a") as log:\n        log.write(f"{{seed}} ")\n'
    )
    data.write_text(data.read_text().replace("    rng =", f"{note}    rng ="))
    return made


def seeds(folder: Path) -> list[str]:
    """Of the cases that were made so far."""
    return (folder.parent / "made").read_text().split()


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


def test_cases_are_made_once(folder: Path, tmp_path: Path) -> None:
    target = load_target(folder)
    server = released(Session(target, "host", ("train", "held-out"), tmp_path))
    assert seeds(folder) == ["1", "2"]
    more = replace(target.cases[0], name="more", args={"seed": 3, "n": 100})
    longer = replace(target, cases=(*target.cases, more))
    names = ("train", "held-out", "more")
    with Pool[int](Session(longer, "host", names, tmp_path / "other"), Crew(2), (), server) as pool:
        assert told(pool) == set(names)
        assert pool.process_id == server.process_id
    assert seeds(folder) == ["1", "2", "3"]
    assert not is_there(server.process_id)


def test_another_case_of_the_same_name_is_made(folder: Path, tmp_path: Path) -> None:
    target = load_target(folder)
    server = released(Session(target, "host", ("train",), tmp_path))
    other = replace(target, cases=(replace(target.cases[0], args={"seed": 7, "n": 100}),))
    with Pool[int](Session(other, "host", ("train",), tmp_path), Crew(1), (), server) as pool:
        assert told(pool) == {"train"}
    assert seeds(folder) == ["1", "7"]


def test_what_is_wrong_with_another_case_is_said(folder: Path, tmp_path: Path) -> None:
    target = load_target(folder)
    server = released(Session(target, "host", ("train",), tmp_path))
    other = replace(target, cases=(replace(target.cases[0], args={"seed": -1, "n": 100}),))
    with (
        Pool[int](Session(other, "host", ("train",), tmp_path), Crew(1), (), server) as pool,
        pytest.raises(UserError, match="case"),
    ):
        told(pool)


def test_a_run_makes_its_cases_once(folder: Path, tmp_path: Path) -> None:
    settings = PRESETS["random"].settings.having(4, 1)
    plan = Plan("random", settings, 1, 1, 1)
    with create_run(load_subject(folder, "host"), tmp_path / "run", plan) as run:
        for _ in run.evolution().run():
            pass
        assert len(run.store.evaluations()) == 4
    made = seeds(folder)
    assert made.count("1") == made.count("2") == 1


def test_workers_may_be_started_while_others_are_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another thread does where Ctrl-C ends what it works for."""
    session = Session(load_target(folder), "host", ("train",), tmp_path / "reference")
    leave, left = Connection.close, list[int]()
    with closing(ForkServer(session)) as server:
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
