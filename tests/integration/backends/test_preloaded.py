"""Processes forked from a process with loaded modules."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gi_cuda.backends.processes import Family
from gi_cuda.backends.workers.preloaded import forked
from tests.integration.backends import forking

PROGRAM = forking.__name__


@dataclass(frozen=True)
class Begun:
    """A process, and our end of its line. It first says its parent, a variable and its folder."""

    process: Family
    line: Connection

    def said(self) -> tuple[int, str | None, str]:
        told: tuple[int, str | None, str] = self.line.recv()
        return told


def begin(part: str = "nothing") -> Begun:
    ours, theirs = socket.socketpair()
    with theirs:
        process = forked(PROGRAM, forking.become, part, theirs, 10.0)
    return Begun(process, Connection(ours.detach()))


def test_all_come_from_one_process_with_the_surroundings_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    first = begin()
    parent, _, _ = first.said()
    monkeypatch.setenv("GI_CUDA_TEST_SAID", "this")
    monkeypatch.chdir(tmp_path)
    capfd.readouterr()
    second = begin()
    assert second.said() == (parent, "this", str(tmp_path))
    assert capfd.readouterr().out == "it says something\n"
    assert parent not in (os.getpid(), first.process.pid)
    for one in (first, second):
        one.process.end()
        assert not Path(f"/proc/{one.process.pid}/stat").exists()


def test_variables_that_are_read_at_the_start_take_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = begin()
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    second = begin()
    assert first.said()[0] != second.said()[0]
    for one in (first, second):
        one.process.end()


def test_how_they_end_is_told() -> None:
    plain, killed = begin(), begin()
    plain.line.send(3)
    os.kill(killed.process.pid, signal.SIGKILL)
    assert plain.process.ended() == "ended with status 3"
    assert killed.process.ended() == "was killed (SIGKILL)"
    assert killed.process.was_killed
    missing = begin("missing")
    assert missing.process.ended() == "ended with status 5"
    for one in (plain, killed, missing):
        one.process.end()


def test_they_do_not_outlive_the_one_they_come_from_and_the_next_comes_from_another() -> None:
    first = begin()
    parent, _, _ = first.said()
    first.line.send("outlive nobody")
    os.kill(parent, signal.SIGKILL)
    assert first.line.recv() == "nobody is there"
    assert first.process.ended() == "was killed (SIGKILL)"
    first.process.end()
    second = begin()
    assert second.said()[0] != parent
    second.process.end()


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_not_wanted_before_it_comes_never_does(cut: bool) -> None:
    first = begin("endless")
    if cut:
        first.process.kill()
    first.process.end(0.0)
    with pytest.raises(ProcessLookupError):
        _ = first.process.pid
    with pytest.raises(EOFError):
        first.line.recv()
    second = begin()
    assert second.said()
    second.process.end()
