"""Variants that hang, crash or lie cost one worker each and nothing else."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Refused,
    Rehearse,
    SharedMeasurement,
)
from gi_cuda.backends.workers import device_workers, forking
from gi_cuda.backends.workers.pool import Lost, Pool, Task
from gi_cuda.errors import DeviceLost, MachineError, NoRoom, UserError, WorkerFault
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import Subject

LAST = "        out[at] = mine;\n"

FAULTS = {
    "endless loop": ("        for (;;) { __threadfence(); }\n", Survival.HUNG, "limit"),
    "write far out of bounds": (
        "        out[at + (1 << 28)] = mine;\n",
        Survival.CRASHED,
        "SIGSEGV",
    ),
    "write just after the end": ("        out[at + n] = mine;\n", Survival.CRASHED, "out"),
    "write just before the begin": ("        out[at - n] = mine;\n", Survival.CRASHED, "out"),
    "read behind the end": ("        out[at] = in[at + 100000];\n", Survival.CRASHED, "in"),
    "division by zero": ("        out[at] = mine / (n - n);\n", Survival.CRASHED, "SIGFPE"),
    "trap": ("        if (at == 5) __trap();\n        out[at] = mine;\n", Survival.CRASHED, ""),
}

WRONG = {
    "missing write": ("        if (at != n - 1) out[at] = mine;\n", "out[3110]"),
    "off by one": ("        out[at] = mine + (at == 500);\n", "out[500]"),
    "write to an input": (
        "        out[at] = mine;\n        ((int *)in)[at] = 1;\n",
        "wrote where it must not: in",
    ),
    "nothing written": ("", "out[0]"),
}

FICKLE = """
        out[at] = mine;
        if (at == 0 && getenv("TWICE")) ((int *)in)[0] = 1;
        if (at == 0 && getenv("ONCE")) setenv("TWICE", "", 1);
        if (at == 0) setenv("ONCE", "", 1);
"""
"""Right on each of two cases and wrong from then on, though all that is its own is as it was."""


@pytest.fixture(scope="module")
def programs(scale: Subject, scale_tools: Tools) -> dict[str, Program]:
    """Every faulty variant, the reference and some copies, compiled as one batch."""
    source = scale.grammar.source.text
    assert LAST in source
    texts = {"reference": source}
    texts |= {f"fine {i}": source for i in range(6)}
    texts |= {
        name: source.replace(LAST, fault) for name, (fault, *_) in {**FAULTS, **WRONG}.items()
    }
    texts["wrong at the end"] = source.replace(LAST, "        out[at] = mine + (at == 3500);\n")
    texts["fickle"] = source.replace(LAST, FICKLE)
    texts["slow"] = source.replace("40 * REPEAT", "4000 * REPEAT")
    binaries = compile_reference(
        scale, scale_tools.compiler, list(texts.values()), scale_tools.scratch("faults")
    )
    cases = (*scale_tools.train(), *scale_tools.held_out())
    configuration = dict(scale.original.configuration)
    return {
        name: Program(binary, configuration, cases)
        for name, binary in zip(texts, binaries, strict=True)
    }


@pytest.fixture(scope="module")
def pool(programs: dict[str, Program], scale_tools: Tools) -> Pool[int]:
    """Workers that know the reference's answers."""
    request = Record(programs["reference"], scale_tools.reference, 2, 10.0)
    recorded = scale_tools.pool.one(request)
    assert set(recorded.penalties.values()) == {0}
    return scale_tools.pool


def measure(programs: dict[str, Program], name: str) -> Measure:
    return Measure(programs[name], programs["reference"], Sampling(screen=3, most=3, limit=0.2))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fatal_fault_is_told_apart(
    name: str, pool: Pool[int], programs: dict[str, Program]
) -> None:
    answer = pool.one(measure(programs, name))
    _, survival, word = FAULTS[name]
    assert isinstance(answer, Lost)
    assert answer.survival is survival
    assert word in answer.message


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_caught(name: str, pool: Pool[int], programs: dict[str, Program]) -> None:
    answer = pool.one(measure(programs, name))
    assert isinstance(answer, Measurement)
    assert answer.survival is Survival.NORMAL
    assert answer.penalty
    assert WRONG[name][1] in answer.message


def test_in_a_round_each_is_judged_as_it_is_alone(
    pool: Pool[int], programs: dict[str, Program]
) -> None:
    untimed = Sampling(limit=5.0).untimed()
    names = ["fine 0", *WRONG, "fine 1"]
    fine = programs["fine 0"]
    refused = replace(fine, binary=replace(fine.binary, path=Path("/nowhere/at-all.so")))
    some = (refused, *(programs[name] for name in names))
    first, *together = pool.one(Rehearse(some, untimed))
    assert isinstance(first, Refused)
    alone = [pool.one(Measure(one, programs["reference"], untimed)) for one in some[1:]]
    for one, other in zip(together, alone, strict=True):
        assert (one.correct, one.message) == (other.correct, other.message)
    assert [one.correct for one in together] == [True, *[False] * len(WRONG), True]


def test_of_several_that_are_timed_together_none_is_blamed_for_another(
    pool: Pool[int], programs: dict[str, Program]
) -> None:
    names = ["fine 0", "fickle", "fine 1"]
    sampling = measure(programs, "reference").sampling
    variants = tuple(programs[name] for name in names)
    answers = pool.one(SharedMeasurement(variants, programs["reference"], sampling))
    assert [one.correct for one in answers] == [True, False, True]
    assert "wrote where it must not: in" in answers[1].message


def test_far_slower_is_told_at_once_and_who_wants_all_pairs_gets_them(
    pool: Pool[int], programs: dict[str, Program]
) -> None:
    race = Sampling(screen=3, most=9, limit=5.0)
    every = replace(race, screen=9)
    for sampling, pairs in ((race, 1), (every, 9)):
        answer = pool.one(Measure(programs["slow"], programs["reference"], sampling))
        assert isinstance(answer, Measurement)
        assert answer.correct
        assert len(answer.samples) == pairs * len(programs["slow"].cases)


def test_the_case_that_told_most_for_least_is_run_first(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    """At first that is the smallest; a variant that is wrong there goes no further."""
    with open_tools(scale, tmp_path, workers=1, jobs=1) as tools:
        tools.pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        names = ["off by one", *["wrong at the end"] * 3, "off by one"]
        answers = tools.pool.map((i, measure(programs, name)) for i, name in enumerate(names))
        told = [answer.message.partition(":")[0] for _, answer in answers]
    assert told == ["held-out", "train", "train", "train", "train"]


def test_faults_do_not_disturb_their_neighbours(
    pool: Pool[int], programs: dict[str, Program]
) -> None:
    """A storm of faults between good variants: every one is classified rightly."""
    fine = [name for name in programs if name.startswith("fine")]
    names = [name for pair in zip(fine, FAULTS, strict=False) for name in pair] + list(WRONG)
    answers = dict(pool.map((i, measure(programs, name)) for i, name in enumerate(names)))
    assert sorted(answers) == list(range(len(names)))
    for i, name in enumerate(names):
        answer = answers[i]
        if name in FAULTS:
            assert isinstance(answer, Lost), name
            assert answer.survival is FAULTS[name][1], name
        else:
            assert isinstance(answer, Measurement), (name, answer)
            assert answer.correct == (name in fine), name


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_no_worker_starts_beside_a_single_request(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    """A worker that opens its device would disturb the times of the request."""
    with open_tools(scale, tmp_path, workers=2, jobs=1) as tools:
        fork_server = tools.pool.process_id
        tools.pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        list(tools.pool.map([(0, measure(programs, "fine 0"))]))
        workers = Path(f"/proc/{fork_server}/task/{fork_server}/children").read_text().split()
        assert len(workers) == 1


def test_waiting_for_answers_ends_with_other_news(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    news, tell = os.pipe()
    with open_tools(scale, tmp_path, workers=1, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        endless = measure(programs, "endless loop")
        pool.submit(Task(1, replace(endless, sampling=Sampling(limit=60.0))))
        assert not pool.has_room
        assert pool.wait(0.0) == []
        os.write(tell, b".")
        assert pool.wait(None, news) == []
        pool.abandon()
        assert pool.has_room
        pool.submit(Task(2, measure(programs, "fine 0")))
        while not (answers := pool.wait()):
            pass  # the worker that was ended is gone now
        ((key, answer),) = answers
        assert key == 2
        assert isinstance(answer, Measurement)
    os.close(news)
    os.close(tell)


def test_without_a_fork_server_nothing_is_waited_for(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    with open_tools(scale, tmp_path, workers=1, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        endless = measure(programs, "endless loop")
        pool.submit(Task(1, replace(endless, sampling=Sampling(limit=60.0))))
        os.kill(pool.process_id, signal.SIGKILL)
        with pytest.raises(MachineError, match="SIGKILL") as caught:
            pool.wait()
        assert "memory is full" in str(caught.value)
        pool.abandon()


def test_a_worker_that_does_not_go_is_given_up_and_named(
    tmp_path: Path,
    scale: Subject,
    programs: dict[str, Program],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nobody says that it is gone: the process whose child it is was stopped."""
    monkeypatch.setattr(device_workers, "CLEARED", 0.1)
    with open_tools(scale, tmp_path, workers=1, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        list(pool.map([(0, measure(programs, "fine 0"))]))
        os.kill(pool.process_id, signal.SIGSTOP)
        (worker,) = pool._devices[0]._workers.values()
        endless = measure(programs, "endless loop")
        pool.submit(Task(1, replace(endless, sampling=Sampling(limit=60.0))))
        os.kill(worker.pid, signal.SIGKILL)
        while not (answers := pool.wait()):
            pass
        ((key, answer),) = answers
        assert key == 1
        assert isinstance(answer, Lost)
        assert f"process {worker.pid} (" in capfd.readouterr().err
        monkeypatch.setattr(forking, "ANSWERING", 0.1)
        with pytest.raises(WorkerFault, match="did not answer"):
            pool.one(measure(programs, "fine 1"))


def test_a_device_that_cannot_be_opened_any_more_is_lost(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    with open_tools(scale, tmp_path, workers=1, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        list(pool.map([(0, measure(programs, "fine 0"))]))
        # What a worker answers that finds no device, from one that has nothing else to do.
        ours, theirs = Pipe()
        theirs.send(UserError("the driver sees no device"))
        (worker,) = pool._devices[0]._workers.values()
        before, worker.connection = worker.connection, ours
        pool.submit(Task(1, measure(programs, "fine 1")))
        with pytest.raises(DeviceLost, match="sees no device"):
            pool.wait()
        before.close()


def stand_in(pool: Pool[int]) -> tuple[Connection, Connection]:
    """The other end of what the worker is asked that is next; the second one is to be kept open."""
    ours, theirs = Pipe()
    idle = [one for one in pool._devices[0]._workers.values() if not one.sent]
    worker = max(idle, key=lambda one: one.used)
    before, worker.connection = worker.connection, ours
    return theirs, before


def test_where_a_device_has_no_room_for_all_workers_there_are_fewer(
    tmp_path: Path,
    scale: Subject,
    programs: dict[str, Program],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Other processes may use a GPU's memory. No request is lost, and no variant is blamed."""
    fine = measure(programs, "fine 0")
    with open_tools(scale, tmp_path, workers=2, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        list(pool.map([(n, fine) for n in range(4)]))
        theirs, before = stand_in(pool)
        theirs.send(NoRoom("the device gives no context: out of memory"))
        answers = dict(pool.map([(n, fine) for n in range(4)]))
        assert all(isinstance(one, Measurement) for one in answers.values())
        assert sorted(answers) == list(range(4))
        assert len(pool._devices[0]._workers) <= 2  # and no spare one
        said = capfd.readouterr().err
        assert said.count("has no room for so many workers") == 1
        assert isinstance(pool.one(fine), Measurement)  # in a fresh worker, once others are ended
        theirs, other = stand_in(pool)
        theirs.send(NoRoom("the device gives no context: out of memory"))
        pool.submit(Task(1, fine))
        with pytest.raises(DeviceLost, match="out of memory"):  # nobody is left to make do with
            pool.wait()
        before.close()
        other.close()


def test_what_was_refused_for_lack_of_memory_is_asked_once_more_when_others_have_ended(
    tmp_path: Path, scale: Subject, programs: dict[str, Program]
) -> None:
    fine, full = measure(programs, "fine 0"), Refused("the device has no 184 MiB", room=True)
    with open_tools(scale, tmp_path, workers=2, jobs=1) as tools:
        pool = tools.pool
        pool.one(Record(programs["reference"], tools.reference, 2, 10.0))
        list(pool.map([(n, fine) for n in range(4)]))
        workers = pool._devices[0]._workers
        assert len([one for one in workers.values() if not one.sent]) > 1
        last = max(workers.values(), key=lambda one: one.used)
        ours, theirs = Pipe()
        before, last.connection = last.connection, ours
        pool.submit(Task(1, fine))
        theirs.send(full)
        assert theirs.recv() == fine
        assert pool.wait() == []
        assert theirs.recv() == fine
        assert list(workers) == [last.pid]
        theirs.send(full)
        assert pool.wait() == [(1, full)]
        before.close()


def test_workers_end_with_the_pool(tmp_path: Path, scale_tools: Tools, scale: Subject) -> None:
    with open_tools(scale, tmp_path, workers=2, jobs=1) as tools:
        fork_server = tools.pool.process_id
        assert Path(f"/proc/{fork_server}").exists() or not Path("/proc").exists()
    assert not Path(f"/proc/{fork_server}/status").exists()
