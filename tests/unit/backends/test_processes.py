"""Processes end with all of their children, and waiting threads are notified."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gi_cuda.backends.background import Background
from gi_cuda.backends.compile.process import Finished, run
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.process_ids import signal_name
from gi_cuda.backends.process_registry import ProcessRegistry, Stopped, process_registry
from gi_cuda.backends.processes import Process
from gi_cuda.backends.protocol.variants import Built

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

STUBBORN = """
trap '' INT TERM
sh -c 'echo $$ >> "$0"; exec sleep 1000' "$0" &
echo $$ >> "$0"
while :; do wait; done
"""
"""A process that cares for no signal, and its child."""


def runs(pid: int) -> bool:
    """Tell whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def members(file: Path, number: int) -> list[int]:
    """The numbers that so many processes have written."""
    while not file.exists() or len(file.read_text().split()) < number:
        pass
    return [int(word) for word in file.read_text().split()]


def test_a_process_ends_with_its_children(tmp_path: Path) -> None:
    process = Process(["sh", "-c", STUBBORN, str(tmp_path / "pids")])
    pids = members(tmp_path / "pids", 2)
    assert all(runs(pid) for pid in pids)
    process.end()
    assert not any(runs(pid) for pid in pids)


def test_over_its_limit_it_ends_with_its_children_though_one_holds_its_output(
    tmp_path: Path,
) -> None:
    finished = run(["sh", "-c", STUBBORN, str(tmp_path / "pids")], limit=0.5)
    assert finished.status is None
    assert not any(runs(pid) for pid in members(tmp_path / "pids", 2))


def follow(line: str) -> Process:
    pipe = subprocess.PIPE
    return Process(["sh", "-c", line], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)


def test_what_is_followed_is_read_to_its_end() -> None:
    followed = follow("seq 100000; echo no >&2; exit 3").followed(60, 1 << 20)
    assert followed.status == 3
    assert followed.stdout.split()[-1] == b"100000"
    assert followed.stderr == b"no\n"
    assert followed.seconds > 0
    assert not followed.loud


def test_its_end_is_seen_though_what_it_leaves_holds_its_output(tmp_path: Path) -> None:
    line = f"(trap '' TERM; echo $$ > {tmp_path}/pid; exec sleep 1000) & echo done; kill -9 $$"
    followed = follow(line).followed(60, 100)
    assert followed.status == -signal.SIGKILL
    assert followed.stdout == b"done\n"
    pids = [int(word) for file in tmp_path.glob("pid") for word in file.read_text().split()]
    assert not any(runs(pid) for pid in pids)


@pytest.mark.parametrize(
    ("line", "limit", "loud"), [(STUBBORN, 0.5, False), ("yes", 60, True), ("yes >&2", 60, True)]
)
def test_beyond_a_limit_it_is_ended(line: str, limit: float, loud: bool, tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    words = ["sh", "-c", line, str(tmp_path / "pids")]
    followed = Process(words, stdout=pipe, stderr=pipe).followed(limit, 1000)
    assert followed.status is None
    assert followed.loud is loud
    assert max(len(followed.stdout), len(followed.stderr)) == (1001 if loud else 0)
    if not loud:
        assert not any(runs(pid) for pid in members(tmp_path / "pids", 2))


def test_cutting_a_leash_ends_what_is_followed() -> None:
    mine, ended = ProcessRegistry(), threading.Event()

    def wait() -> None:
        with mine.held(), pytest.raises(Stopped):
            follow("kill -STOP $$").followed(600, 100)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not mine._processes:
        pass
    mine.cut()
    thread.join(60)
    assert ended.is_set()


def test_cutting_a_leash_ends_what_it_holds_and_nothing_else(tmp_path: Path) -> None:
    other = Process(["sleep", "1000"])
    mine, ends = ProcessRegistry(process_registry()), []

    def work() -> None:
        with mine.held(), pytest.raises(Stopped):
            run(["sh", "-c", STUBBORN, str(tmp_path / "pids")], limit=1000)
        with mine.held(), pytest.raises(Stopped):
            run(["true"], limit=1000)
        ends.append(run(["true"], limit=1000))

    thread = threading.Thread(target=work)
    thread.start()
    pids = members(tmp_path / "pids", 2)
    mine.cut()
    thread.join()
    assert not any(runs(pid) for pid in pids)
    assert [one.ok for one in ends] == [True]
    assert runs(other.pid)
    other.end()


def test_a_leash_holds_what_leashes_below_it_hold(tmp_path: Path) -> None:
    above = ProcessRegistry(process_registry())
    below = ProcessRegistry(above)
    with below.held():
        process = Process(["sleep", "1000"])
    above.cut()
    assert below.is_cut
    process.end()
    assert not runs(process.pid)


def test_leaving_jobs_ends_their_processes(tmp_path: Path) -> None:
    crew: JobThreads[int, Finished]
    with JobThreads(
        lambda _: run(["sh", "-c", STUBBORN, str(tmp_path / "pids")], limit=1000), 1
    ) as crew:
        crew.submit(0)
        pids = members(tmp_path / "pids", 2)
    assert not any(runs(pid) for pid in pids)


def test_closing_a_build_ends_its_compilers(tmp_path: Path) -> None:
    def built() -> Iterator[Built]:
        crew: JobThreads[int, Finished]
        with JobThreads(
            lambda _: run(["sh", "-c", STUBBORN, str(tmp_path / "pids")], limit=1000), 1
        ) as crew:
            crew.submit(0)
            crew.next()
        yield from ()

    with closing(Background(built())):
        pids = members(tmp_path / "pids", 2)
    assert not any(runs(pid) for pid in pids)


def test_ctrl_c_while_a_process_starts_comes_once_it_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[int] = []
    popen = subprocess.Popen

    def start(*words: object, **options: object) -> object:
        process = popen(*words, **options)  # type: ignore[call-overload]
        started.append(process.pid)
        os.kill(os.getpid(), signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    mine = ProcessRegistry(process_registry())
    try:
        with mine.held(), pytest.raises(KeyboardInterrupt):
            Process(["sleep", "1000"])
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    (process,) = mine._processes
    process.end()
    assert not runs(started[0])


def test_signals_without_a_name_have_their_number() -> None:
    assert signal_name(signal.SIGKILL) == "SIGKILL"
    assert signal_name(40) == "signal 40"
