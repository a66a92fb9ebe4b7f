"""Parallel processes, one at a time on each device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gi_cuda.cli.search.side_by_side import SideBySide

Ended = list[tuple[int, ...]]


def python(code: str) -> Callable[[int, int], subprocess.Popen[bytes]]:
    return lambda task, device: subprocess.Popen(
        [sys.executable, "-c", code, str(task), str(device)], start_new_session=True
    )


def test_each_task_runs_once_and_every_device_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both devices are at work at a time: each first task waits for the other one's file."""
    both = (
        "import os, sys; task = int(sys.argv[1]); open(sys.argv[1], 'x').close()\n"
        "while task < 3 and not os.path.exists(str(3 - task)): pass"
    )
    ended: Ended = []
    monkeypatch.chdir(tmp_path)
    SideBySide([1, 2, 3, 4, 5], {}, python(both), lambda *one: ended.append(one)).run([0, 1])
    assert sorted(task for task, _, _ in ended) == [1, 2, 3, 4, 5]
    assert {device for task, device, _ in ended if task < 3} == {0, 1}
    assert {status for _, _, status in ended} == {0}


def test_a_task_stays_on_the_device_that_it_began_on() -> None:
    ended: Ended = []
    tasks = SideBySide([1, 2, 3, 4], {1: 1, 3: 1, 4: 9}, python(""), lambda *one: ended.append(one))
    tasks.run([0, 1])
    found = {task: device for task, device, _ in ended}
    assert found.keys() == {1, 2, 3, 4}  # device 9 is gone: 4 runs anywhere
    assert found[1] == found[3] == 1


def test_nothing_begins_after_a_fatal_status() -> None:
    ended: Ended = []
    fail = python("import sys; sys.exit(2 if sys.argv[1] == '2' else 1)")
    SideBySide([1, 2, 3], {}, fail, lambda *one: ended.append(one), fatal=(2,)).run([0])
    assert ended == [(1, 0, 1), (2, 0, 2)]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Take interrupts: a process that a shell starts in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_reaches_every_process(interruptible: None) -> None:
    ended: Ended = []
    over = threading.Semaphore(0)

    def start(task: int, device: int) -> subprocess.Popen[bytes]:
        code = (
            "import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(130))\n"
            "print('there', flush=True)\nwhile True: signal.pause()"
        )
        words = [sys.executable, "-c", code]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        if task == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return process

    def end(*one: int) -> None:
        ended.append(one)
        over.release()

    tasks = SideBySide([1, 2, 3], {}, start, end, fatal=(130,))
    with pytest.raises(KeyboardInterrupt):
        tasks.run([0, 1])
    assert all(over.acquire(timeout=60) for _ in range(2))
    assert sorted((task, status) for task, _, status in ended) == [(1, 130), (2, 130)]
    assert tasks.waiting == []
