"""Workers that share a device take turns."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.backends.protocol import device_lock
from gi_cuda.backends.protocol.device_lock import GOING, DeviceLock


@pytest.fixture
def turns() -> DeviceLock:
    return DeviceLock()


def forked(work: Callable[[], object]) -> int:
    """A child that does some work and ends."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def ended(pid: int) -> int:
    """The exit status of a child, once it has ended."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def limited(turns: DeviceLock) -> None:
    """Wait for a turn in vain, and end by a signal."""
    signal.alarm(1)
    turns.take()


def test_one_process_at_a_time_has_the_turn(turns: DeviceLock) -> None:
    with turns.turn():
        assert ended(forked(lambda: limited(turns))) == -signal.SIGALRM
    assert ended(forked(lambda: limited(turns))) == 0


def test_the_turn_is_free_when_the_process_that_has_it_is_killed(turns: DeviceLock) -> None:
    ready, ready_end = os.pipe()

    def hold() -> None:
        turns.take()
        os.write(ready_end, b"!")
        signal.pause()

    holder = forked(hold)
    os.read(ready, 1)
    os.kill(holder, signal.SIGKILL)
    assert ended(holder) == -signal.SIGKILL
    with turns.turn():
        pass


def test_a_process_that_is_going_disturbs_others_until_it_is_gone(turns: DeviceLock) -> None:
    slot = turns.free_slot()
    assert not turns.disturbed()
    going = forked(lambda: (turns.take(), turns.leave(slot)))
    turns.taken_by(going, slot)
    assert turns.free_slot() != slot
    ended(going)
    assert turns.disturbed()
    assert ended(forked(lambda: limited(turns))) == 0
    turns.gone(going)
    assert not turns.disturbed()
    assert turns.free_slot() == slot


def test_processes_that_share_a_device_by_its_name_take_turns() -> None:
    """The workers of two commands do that."""
    name = f"test {os.getpid()}"
    one, other, third = DeviceLock(), DeviceLock(), DeviceLock()
    try:
        one.share(name)
        other.share(name)
        with one.turn():
            assert ended(forked(lambda: limited(third))) == 0
            assert ended(forked(lambda: limited(other))) == -signal.SIGALRM
        assert ended(forked(lambda: limited(other))) == 0
    finally:
        Path(f"/dev/shm/gi-cuda-{os.getuid()}-{name}").unlink()


def test_a_file_that_cannot_be_shared_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_lock, "_SHARED", Path("/nowhere"))
    turns = DeviceLock()
    turns.share("test")
    with turns.turn():
        assert ended(forked(lambda: limited(turns))) == -signal.SIGALRM


def test_one_that_never_goes_disturbs_nobody_for_ever(turns: DeviceLock) -> None:
    turns.leave(3)
    assert turns.disturbed()
    turns._say(3, time.monotonic() - GOING)
    assert not turns.disturbed()
