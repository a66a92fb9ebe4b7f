"""Hold processes at their exit, so that SIGKILL does not end them, as if stuck in a driver."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from contextlib import suppress
from typing import Self

_CONTINUE, _DETACH, _SEIZE, _INTERRUPT = 7, 17, 0x4206, 0x4207
_HELD_AT_EXIT = 0x40
"""Option of ptrace: the process is held when it ends."""

_EXITS, _INTERRUPTED = 6, 128
"""Reasons for which a traced process is stopped: its end, an interruption."""

_ALL = 0x40000000
"""Waiting is for processes that others have started, too."""


class Tracer:
    """Tracer of processes by ptrace, for this thread.

    At the end of the context it lets go of the processes; those that were killed then end.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self._traced: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._traced:
            if not self._ask(_DETACH, pid):  # it runs
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, _ALL)
                    self._ask(_DETACH, pid)

    def trace(self, pid: int) -> bool:
        """Hold a process at its exit; return False if it may not be traced or is ending already.

        An attached process may have gone too far in its exit to be held. A process that stops when
        it is
        told to has not.
        """
        if not self._ask(_SEIZE, pid, _HELD_AT_EXIT):
            return False
        self._ask(_INTERRUPT, pid)
        event = 0
        while event not in (_EXITS, _INTERRUPTED):
            _, status = os.waitpid(pid, _ALL)
            if not os.WIFSTOPPED(status):
                return False
            event = status >> 16
            if event != _EXITS:
                self._ask(_CONTINUE, pid, 0 if event else os.WSTOPSIG(status))
        self._traced.append(pid)
        return True

    def held(self) -> list[int]:
        """Return the processes that have not ended yet."""
        return [pid for pid in self._traced if not self._has_ended(pid)]

    def _has_ended(self, pid: int) -> bool:
        try:
            found, status = os.waitpid(pid, _ALL | os.WNOHANG)
        except ChildProcessError:
            return True
        return bool(found) and not os.WIFSTOPPED(status)

    def _ask(self, what: int, pid: int, how: int = 0) -> bool:
        return bool(self._libc.ptrace(what, pid, None, how) == 0)


def may_trace() -> bool:
    """Tell whether this system lets a process trace its children."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as one, Tracer() as tracer:
        return tracer.trace(one.pid)
