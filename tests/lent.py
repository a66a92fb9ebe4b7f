"""A fork server for the workers of commands that tests start, forked from the tests' process.

Each command starts a fork server, which loads numpy and the workers' modules. That takes a quarter
of a second of processor time, and tests start hundreds of commands. The tests' process has all of
this loaded already. The forked server is real otherwise: it serves one command, and ends with it.
Commands with environment variables of their own, and those of ``test_run_killed.py`` and
``test_preloaded.py``, start their own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any

from gi_cuda.backends.processes import Family
from gi_cuda.backends.workers import fork_server, preloaded

_GOING = 10.0
"""Seconds in which it has to be gone once its command is."""

_ABOUT_OUTPUT = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM"}

_NUMBER = 8
"""Bytes of its process number."""


@contextmanager
def lent(variables: Set[str]) -> Iterator[socket.socket | None]:
    """Yield a connection to a process that waits to become a command's fork server.

    Args:
        variables: environment variables of the command alone. None is yielded if they affect more
            than its output: a process reads some at its start, and a test finds it by others.
    """
    if not variables <= _ABOUT_OUTPUT or not hasattr(os, "pidfd_open"):
        yield None
        return
    ours, theirs = socket.socketpair()
    with theirs:
        waiting = preloaded.forked(fork_server.__name__, serve, "host", theirs, _GOING)
    try:
        with ours:
            yield ours
    finally:
        waiting.finish(_GOING)


def serve(line: int, above: int) -> None:
    """Wait until a command asks for a fork server, and be that server from then on."""
    passed: list[int] = []
    with socket.socket(fileno=line) as command, suppress(ConnectionError):  # it was killed
        command.sendall(os.getpid().to_bytes(_NUMBER))
        _, passed, _, _ = socket.recv_fds(command, 1, 1 + len(preloaded._STREAMS))
    if not passed:
        return
    served, *streams = passed
    for number, stream in zip(preloaded._STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    preloaded.fork_on_demand(served, fork_server._load)


def borrow(line: socket.socket) -> None:
    """Make this process use the lent process as the first one that it starts."""
    start = preloaded.Process

    def taken(
        command: Sequence[str], *, going: float, pass_fds: Sequence[int], **options: Any
    ) -> Family:
        preloaded.Process = start  # type: ignore[misc]
        child = _Lent(int.from_bytes(line.recv(_NUMBER, socket.MSG_WAITALL)))
        with line:
            socket.send_fds(line, [b"f"], [*pass_fds, *preloaded._STREAMS])
        return Family(lambda: child, going)

    preloaded.Process = taken  # type: ignore[assignment,misc]


class _Lent:
    """The lent process, as the command sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)

    def poll(self) -> int | None:
        # How it ended its parent knows; what ends it as long as it is needed is this signal.
        if self.returncode is None and wait([self._end], 0.0):
            self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        wait([self._end], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("lent", timeout or 0.0)
        return status
