"""A process that has loaded shared code, and is forked into each process that needs it.

Loading numpy and the workers' code takes a process a quarter of a second, and a command has up to
ten pools, each with a fork server that holds its target's cases. All of these are forked from one
process, which holds nothing else, starts with the first pool and ends with the command.

That process runs :func:`fork_on_demand`; the command calls :func:`forked`.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Final, TypeAlias

from gi_cuda.backends import ONE_THREAD
from gi_cuda.backends.process_registry import all_processes
from gi_cuda.backends.processes import Family, Process, undisturbed

_OTHER_END_GONE = (EOFError, BrokenPipeError, ConnectionResetError)

_LOADING = 60.0
"""Seconds in which the process has to load everything and fork."""

_NEWS: Final = struct.Struct("=iiq")
"""Message about a forked process: an event, its process number, a status or error number. So few
bytes are written and read atomically."""

_BORN, _ENDED, _REFUSED = range(3)

Become: TypeAlias = Callable[[int, int], None]
"""Function that a forked process runs. It takes its socket, and a descriptor that becomes readable
when the process that it was forked from has ended."""

_STREAMS = (1, 2)
"""Standard output and error, which every forked process gets."""

_AT_START = ("PYTHON", "LD_", "DYLD_", "OPENBLAS_", "OMP_", "MKL_", "MALLOC_", "GLIBC_")
"""Prefixes of environment variables that a process reads only when it starts."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request to fork a process.

    Attributes:
        become: the function to run; see :func:`forked`.
        part: the code to load before.
        environment: its environment variables.
    """

    become: Become
    part: str
    environment: dict[str, str]


class _Child:
    """A process whose parent is another process, known by that parent's messages only.

    Args:
        news: pipe on which the child reports its number, and the parent how it ended.
        parent: the process that forks it after loading everything.
    """

    def __init__(self, news: Connection, parent: Process) -> None:
        self._news = news
        self._parent = parent
        self._pid: int | None = None
        self._trouble: OSError | None = None
        self.returncode: int | None = None

    def comes(self, patience: float) -> bool:
        """Tell whether it has not been forked yet, after waiting ``patience`` seconds."""
        return self._pid is None and self.returncode is None and not self._hear(patience)

    @property
    def pid(self) -> int:
        """Its process number. Waits until the parent has loaded everything and forked."""
        while self._pid is None:
            if self.returncode is not None or not self._hear(_LOADING):
                raise ProcessLookupError(errno.ESRCH, "no process was forked")
        return self._pid

    def poll(self) -> int | None:
        self._hear(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit status.

        Raises:
            OSError: it could not be forked.
        """
        while self.returncode is None:
            if not self._hear(timeout):
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
        if self._trouble is not None:
            raise self._trouble
        return self.returncode

    def _hear(self, patience: float | None) -> bool:
        """Handle the next message within ``patience`` seconds. Return whether there was one."""
        if self.returncode is not None or not self._news.poll(patience):
            return False
        told = os.read(self._news.fileno(), _NEWS.size)
        if not told:  # its parent ended, and so do all processes forked from it
            self.returncode = self._parent.status() if self._pid is None else None
            self.returncode = -signal.SIGKILL if self.returncode is None else self.returncode
            return True
        what, pid, about = _NEWS.unpack(told)
        if what == _BORN:
            self._pid = pid
        elif what == _ENDED:
            self.returncode = os.waitstatus_to_exitcode(about)
        else:
            self.returncode, self._trouble = -signal.SIGKILL, OSError(about, os.strerror(about))
        return True


class _Forked(Family):
    """A process that another one forks, with all that it starts.

    Args:
        child: the process.
        parent: the preloaded process; killed if the child has to end before it was forked.
        going: seconds in which the child has to be gone after it was killed.
    """

    def __init__(self, child: _Child, parent: _Preloaded, going: float) -> None:
        self._forked, self._parent = child, parent
        super().__init__(lambda: child, going)

    def kill(self) -> None:
        self._prevent(0.0)
        super().kill()

    def end(self, seconds: float | None = None) -> None:
        self._prevent(self._going if seconds is None else seconds)
        super().end(seconds)

    def _prevent(self, patience: float) -> None:
        """Prevent the fork of the child, if it does not come within ``patience`` seconds."""
        if self._forked.comes(patience):
            self._parent.give_up()

    def _session(self) -> list[int]:
        with suppress(ProcessLookupError):
            return super()._session()
        return []


class _Preloaded:
    """This process's end of the socket to a preloaded process.

    Args:
        module: module that the process runs; see :func:`fork_on_demand`.
        going: seconds in which the process has to be gone after it was killed.
    """

    def __init__(self, module: str, going: float) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs, all_processes().held():
            self._process = Process(
                [sys.executable, "-m", module, str(theirs.fileno())],
                going=going,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.DEVNULL,
            )
        self._control = Connection(os.dup(self._socket.fileno()))
        self._given_up = False

    def fork(self, become: Become, part: str, line: socket.socket) -> _Child:
        """Request a process that is forked as soon as everything is loaded.

        Raises:
            OSError: the preloaded process has ended.
        """
        if self._given_up:
            raise BrokenPipeError
        news, told = Pipe(duplex=False)
        here = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
        try:
            with told:
                self._control.send(_Wanted(become, part, {**os.environ, **ONE_THREAD}))
                passed = [line.fileno(), told.fileno(), here, *_STREAMS]
                socket.send_fds(self._socket, [b"f"], passed)
        finally:
            os.close(here)
        return _Child(news, self._process)

    def give_up(self) -> None:
        """Kill the preloaded process; do not wait."""
        self._given_up = True
        self._process.kill()

    def close(self) -> None:
        """End the preloaded process."""
        self._control.close()
        self._socket.close()
        self._process.end()


_LOCK = threading.Lock()
_LOADED: dict[object, _Preloaded] = {}
"""The preloaded processes of this process, by everything that they depend on."""


def forked(module: str, become: Become, part: str, line: socket.socket, going: float) -> Family:
    """Start a process by forking one that has loaded the code it needs.

    It gets this process's folder, environment, standard output and standard error. This call does
    not wait until the code is loaded.

    Args:
        module: module that calls :func:`fork_on_demand` when it is run.
        become: function to run in the process, picklable by its name.
        part: the code to load before.
        line: socket that the process serves.
        going: seconds in which the process has to be gone after it was killed.

    Raises:
        Stopped: the thread's process group was cut.
        OSError: no further process can be made.
    """
    variables = {name: said for name, said in os.environ.items() if name.startswith(_AT_START)}
    depends = (os.getpid(), module, *sorted(variables.items()))
    with _LOCK, undisturbed():
        found = _LOADED.pop(depends, None)
        if found is not None:
            try:
                child = found.fork(become, part, line)
            except OSError:  # it has ended, or is ending
                found.close()
                found = None
        if found is None:
            found = _Preloaded(module, going)
            child = found.fork(become, part, line)
        _LOADED[depends] = found
        return _Forked(child, found, going)


# -- the process that has everything loaded ------------------------------------------------------


def fork_on_demand(descriptor: int, load: Callable[[str], None]) -> None:
    """Fork this process on each request, until the other end of the socket is closed.

    Args:
        descriptor: this end of the socket.
        load: loads a part of the code.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, found = _Parent(descriptor), None
    with suppress(*_OTHER_END_GONE):
        while found is None:
            if parent.asked():
                found = parent.fork(load)
            else:
                parent.reap()
    if found is not None:
        found()


class _Parent:
    """The side of the preloaded process: forks on request and reports how each child ended.

    Args:
        descriptor: the socket on which requests come.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._control = Connection(os.dup(descriptor))
        self._ended, self._ended_end = os.pipe()
        os.set_blocking(self._ended_end, False)
        signal.set_wakeup_fd(self._ended_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._gone, self._gone_end = os.pipe()
        self._news: dict[int, int] = {}

    def asked(self) -> bool:
        """Wait for an event. Return True for a request to fork, False if a child has ended."""
        return self._ended not in wait([self._control, self._ended])

    def fork(self, load: Callable[[str], None]) -> Callable[[], None] | None:
        """Fork as requested.

        Returns:
            In the child, the function to run; else None.

        Raises:
            EOFError, ConnectionResetError: there will be no more requests.
        """
        wanted: _Wanted = self._control.recv()
        _, passed, _, _ = socket.recv_fds(self._socket, 1, 3 + len(_STREAMS))
        if len(passed) < 3 + len(_STREAMS):
            raise EOFError
        line, news, *surroundings = passed
        load(wanted.part)
        gc.freeze()
        try:
            pid = os.fork()
        except OSError as error:
            os.write(news, _NEWS.pack(_REFUSED, 0, error.errno or 0))
            for one in passed:
                os.close(one)
            return None
        if pid == 0:
            os.setsid()
            os.write(news, _NEWS.pack(_BORN, os.getpid(), 0))
            self._leave(news)
            _settle(wanted.environment, *surroundings)
            return partial(wanted.become, line, self._gone)
        self._news[pid] = news
        for one in (line, *surroundings):
            os.close(one)
        return None

    def _leave(self, news: int) -> None:
        """Close the parent's descriptors in a child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        self._socket.close()
        others = (self._ended, self._ended_end, self._gone_end, *self._news.values())
        for one in (news, *others):
            os.close(one)

    def reap(self) -> None:
        """Report the children that ended."""
        os.read(self._ended, 4096)
        while self._news:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            news = self._news.pop(pid)
            with suppress(BrokenPipeError):
                os.write(news, _NEWS.pack(_ENDED, pid, status))
            os.close(news)


def _settle(environment: Mapping[str, str], here: int, *streams: int) -> None:
    """Take over environment, folder and streams of the process that requested this one."""
    os.environ.clear()
    os.environ.update(environment)
    os.fchdir(here)
    for number, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, number)
    for one in (here, *streams):
        os.close(one)
