"""Start processes, and end them with all that they have started, within a bounded time.

Each process leads a session of its own, by which its descendants are found. A process that the
system cannot end, e.g. because it is stuck in a device driver, is left behind and reported; nothing
waits for it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from gi_cuda.backends.process_ids import kill_all, living, say_left_behind, signal_name
from gi_cuda.backends.process_registry import Stopped, process_registry

GOING = 1.5
"""Seconds in which a killed process has to be gone."""

_LOOKED = 0.01
"""Seconds between two checks of whether a process is gone."""

_COURTESY = 5
"""Increment of the nice value of a process with lower priority."""

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


@dataclass(frozen=True, slots=True)
class Followed:
    """The output of a process and how it ended.

    Attributes:
        status: exit status, or minus the number of a signal; None: it was killed at a limit.
        stdout, stderr: its output.
        seconds: wall time from before its start to its end.
        loud: whether its output exceeded the limit.
    """

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    loud: bool = False


class Child(Protocol):
    """A started process, as :class:`Family` uses it."""

    returncode: int | None

    @property
    def pid(self) -> int:
        """Its process number.

        Raises:
            ProcessLookupError: the process was never started.
        """

    def poll(self) -> int | None:
        """Return its exit status, or minus the number of a signal; None if it still runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the same as :meth:`poll`.

        Raises:
            subprocess.TimeoutExpired: it has not ended after ``timeout`` seconds.
        """


class Family:
    """A process with all that it starts.

    Args:
        start: starts the process, as the leader of a session of its own.
        going: seconds in which the process has to be gone after it was killed.

    Raises:
        Stopped: the thread's process group was cut.
        OSError: the process cannot be started.
    """

    def __init__(self, start: Callable[[], Child], going: float = GOING) -> None:
        self._processes = process_registry()
        if self._processes.is_cut:
            raise Stopped
        self._going = going
        with undisturbed():
            self._child = start()
            self._processes.enter(self)

    @property
    def pid(self) -> int:
        """Its process number, which is also its session's number.

        Raises:
            ProcessLookupError: the process was never started.
        """
        return self._child.pid

    @property
    def was_killed(self) -> bool:
        """Tell whether SIGKILL is known to have ended the process."""
        return self._child.returncode == -signal.SIGKILL

    def status(self) -> int | None:
        """Return its exit status, or minus the number of a signal; None if it does not end."""
        with suppress(subprocess.TimeoutExpired):
            return self._child.wait(self._going)
        return None

    def finish(self, limit: float) -> int | None:
        """Wait for its end, and kill what it leaves running.

        Args:
            limit: seconds of wall time that the process may take.

        Returns:
            The exit status; None if the process was killed at its limit.

        Raises:
            Stopped: it was killed because it is no longer wanted.
        """
        status = None
        try:
            with suppress(subprocess.TimeoutExpired):
                status = self._child.wait(limit)
        finally:
            self.end()
        if self._processes.is_cut:
            raise Stopped
        return status

    def ended(self) -> str:
        """Describe how it ended, as a predicate whose subject is the process."""
        status = self.status()
        if status is None:
            return "does not answer any more"
        if status < 0:
            return f"was killed ({signal_name(-status)})"
        return f"ended with status {status}"

    def give_way(self) -> None:
        """Lower the scheduling priority of the process and of what it starts."""
        nicer = os.getpriority(os.PRIO_PROCESS, 0) + _COURTESY
        with suppress(ProcessLookupError, PermissionError):
            os.setpriority(os.PRIO_PGRP, self.pid, nicer)

    def kill(self) -> None:
        """Kill the process and all that it started; do not wait."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # reaches processes that are being forked, too
        kill_all(self._session())

    def end(self, seconds: float | None = None) -> None:
        """Kill the process and all that it started, and wait until they are gone.

        Processes that do not end are left behind and reported.

        Args:
            seconds: time to wait; by default the ``going`` of the constructor.
        """
        deadline = time.monotonic() + (self._going if seconds is None else seconds)
        while left := self._session():
            kill_all(left)
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOKED)
        for pid in left:
            say_left_behind(pid)
        self._processes.leave(self)

    def _session(self) -> list[int]:
        """Return the numbers of the session's processes that still run, including this one."""
        own = [self.pid] if self._child.poll() is None else []
        return sorted({*own, *living(self.pid)})


class Process(Family):
    """A running program with all that it starts.

    Args:
        command: program and arguments.
        going: seconds in which the process has to be gone after it was killed.
        options: further arguments of :class:`subprocess.Popen`.

    Raises:
        Stopped: the thread's process group was cut.
        OSError: the program cannot be started.
    """

    def __init__(
        self, command: Sequence[str | Path], *, going: float = GOING, **options: Any
    ) -> None:
        self._begun = time.monotonic()
        self._popen: subprocess.Popen[Any]
        super().__init__(partial(self._start, command, options), going)

    def _start(self, command: Sequence[str | Path], options: Mapping[str, Any]) -> Child:
        self._popen = subprocess.Popen(command, start_new_session=True, **options)
        return self._popen

    def output(self, stdin: str | None, limit: float) -> tuple[int | None, str, str]:
        """Wait for its end.

        Args:
            stdin: text for its standard input.
            limit: seconds of wall time that it may take.

        Returns:
            Exit status (None: it was killed at its limit), standard output, standard error.

        Raises:
            Stopped: it was killed because it is no longer wanted.
        """
        late, texts = False, ("", "")
        try:
            try:
                texts = self._popen.communicate(stdin, timeout=limit)
            except subprocess.TimeoutExpired:
                late = True
                self.kill()
                with suppress(subprocess.TimeoutExpired):  # a process that holds a pipe is stuck
                    texts = self._popen.communicate(timeout=self._going)
        except BaseException:
            self.end()
            raise
        if late or self._processes.is_cut:
            self.end()
        self._processes.leave(self)
        if self._processes.is_cut:
            raise Stopped
        return None if late else self._popen.returncode, *texts

    def followed(self, limit: float, most: int) -> Followed:
        """Read its stdout and stderr pipes until it ends, and kill what it leaves running.

        The end is seen at once, so that its time is exact, even if descendants still hold the
        pipes.

        Args:
            limit: seconds of wall time that it may take.
            most: bytes that it may write to either of stdout and stderr.

        Raises:
            Stopped: it was killed because it is no longer wanted.
        """
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        with self._popen.stdout as stdout, self._popen.stderr as stderr:
            written = {stdout.fileno(): bytearray(), stderr.fileno(): bytearray()}
            try:
                status = self._read(written, self._begun + limit, most)
                seconds = time.monotonic() - self._begun
            finally:
                self.end()
        if self._processes.is_cut:
            raise Stopped
        said, complained = map(bytes, written.values())
        loud = max(len(said), len(complained)) > most
        return Followed(status, said, complained, seconds, loud)

    def _read(self, written: dict[int, bytearray], deadline: float, most: int) -> int | None:
        """Read its pipes until it ends. Return its exit status; None if it exceeds a limit."""
        with selectors.DefaultSelector() as selector, _told_of_end(self.pid) as end:
            for pipe in written:
                os.set_blocking(pipe, False)
                selector.register(pipe, selectors.EVENT_READ)
            if end is not None:
                selector.register(end, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                ready = selector.select(max(0.0, left if end is not None else min(left, _LOOKED)))
                over = self._popen.poll()
                for key, _ in ready:
                    if key.fd in written and not _more(key.fd, written[key.fd], most):
                        selector.unregister(key.fd)
                if over is not None:
                    for pipe, text in written.items():  # what was written just before
                        _more(pipe, text, most)
                loud = any(len(text) > most for text in written.values())
                if over is not None or loud or left <= 0:
                    return None if loud else over


def _more(pipe: int, text: bytearray, most: int) -> bool:
    """Read a pipe's pending bytes, at most ``most`` + 1 in all. Return False at its end."""
    with suppress(BlockingIOError):
        while len(text) <= most:
            chunk = os.read(pipe, min(1 << 16, most + 1 - len(text)))
            if not chunk:
                return False
            text += chunk
    return True


@contextmanager
def _told_of_end(pid: int) -> Iterator[int | None]:
    """Give a descriptor that becomes readable when a process ends; None if the system has none."""
    try:
        told = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield told
    finally:
        os.close(told)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delay signal handlers until the end of the context.

    Ctrl-C must not come between the start of a process and its registration.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: handler for number in _INTERRUPTS if callable(handler := signal.getsignal(number))
    }
    try:
        for number in before:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for pending in came:
            before[signal.Signals(pending)](pending, None)
