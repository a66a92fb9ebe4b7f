"""A process that has loaded what others need, and is forked into each of them.

To load numpy and what workers run takes a process a quarter of a second, and a command has up to
ten pools, each with a process of its own that holds its target's cases. All of them are forked from
one, which has nothing else, starts with the first pool and ends with the command.

Its own end of the line is :func:`fork_on_demand`; the command's is :func:`forked`.
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
from gi_cuda.backends.leash import everything
from gi_cuda.backends.processes import Family, Process, undisturbed

_OTHER_END_GONE = (EOFError, BrokenPipeError, ConnectionResetError)

_LOADING = 60.0
"""Seconds in which it has to have loaded what it is to hold, and to have forked."""

_NEWS: Final = struct.Struct("=iiq")
"""What is told of a process that was forked: what of it, its number, what about it. So few bytes
are written and read all at once."""

_BORN, _ENDED, _REFUSED = range(3)

Become: TypeAlias = Callable[[int, int], None]
"""What a process does that was forked; it takes its line, and a descriptor that can be read once
what it was forked from has ended."""

_STREAMS = (1, 2)
"""Standard output and error, which go to every process that is forked."""

_AT_START = ("PYTHON", "LD_", "DYLD_", "OPENBLAS_", "OMP_", "MKL_", "MALLOC_", "GLIBC_")
"""Beginnings of the names of variables that a process reads when it starts, and not again."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a process that is forked is to be.

    Attributes:
        become: what it does; see :func:`forked`.
        part: what it is to have loaded.
        environment: its variables.
    """

    become: Become
    part: str
    environment: dict[str, str]


class _Child:
    """A process whose parent is another one, as far as that tells of it.

    Args:
        news: where it says its number, and its parent how it ended.
        parent: which it is forked from once that has loaded everything.
    """

    def __init__(self, news: Connection, parent: Process) -> None:
        self._news = news
        self._parent = parent
        self._pid: int | None = None
        self._trouble: OSError | None = None
        self.returncode: int | None = None

    def comes(self, patience: float) -> bool:
        """Whether it is yet to come, after so many seconds."""
        return self._pid is None and self.returncode is None and not self._hear(patience)

    @property
    def pid(self) -> int:
        """Its process number, for which its parent has to have loaded everything."""
        while self._pid is None:
            if self.returncode is not None or not self._hear(_LOADING):
                raise ProcessLookupError(errno.ESRCH, "no process was forked")
        return self._pid

    def poll(self) -> int | None:
        self._hear(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status.

        Raises:
            OSError: there was no room for it.
        """
        while self.returncode is None:
            if not self._hear(timeout):
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
        if self._trouble is not None:
            raise self._trouble
        return self.returncode

    def _hear(self, patience: float | None) -> bool:
        """Take what was told next, if anything is within so many seconds."""
        if self.returncode is not None or not self._news.poll(patience):
            return False
        told = os.read(self._news.fileno(), _NEWS.size)
        if not told:  # its parent ended, and so does what was forked from that
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
        child: it.
        parent: is given up where it is to be ended before it is there.
        going: seconds in which it has to be gone once it was killed.
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
        """If it does not come within so many seconds, see that it never will."""
        if self._forked.comes(patience):
            self._parent.give_up()

    def _session(self) -> list[int]:
        with suppress(ProcessLookupError):
            return super()._session()
        return []


class _Preloaded:
    """This process's end of the line to the one that has loaded everything.

    Args:
        module: that it runs; see :func:`fork_on_demand`.
        going: seconds in which it has to be gone once it was killed.
    """

    def __init__(self, module: str, going: float) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs, everything().held():
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
        """A process that is forked as soon as everything is loaded.

        Raises:
            OSError: this one has ended.
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
        """Kill it; does not wait."""
        self._given_up = True
        self._process.kill()

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._socket.close()
        self._process.end()


_LOCK = threading.Lock()
_LOADED: dict[object, _Preloaded] = {}
"""The processes of this one that have everything loaded, by what they depend on."""


def forked(module: str, become: Become, part: str, line: socket.socket, going: float) -> Family:
    """A process that is forked from one which has loaded what it needs.

    It has this process's folder, variables, standard output and error, and comes when all is
    loaded; nobody waits for that here.

    Args:
        module: which calls :func:`fork_on_demand` when it is run.
        become: what it is to do, by a name that can be imported.
        part: what of it is to be loaded beforehand.
        line: that it is to serve.
        going: seconds in which it has to be gone once it was killed.

    Raises:
        Stopped: the thread's leash is cut.
        OSError: there is no room for one more process.
    """
    variables = {name: said for name, said in os.environ.items() if name.startswith(_AT_START)}
    depends = (os.getpid(), module, *sorted(variables.items()))
    with _LOCK, undisturbed():
        found = _LOADED.pop(depends, None)
        if found is not None:
            try:
                child = found.fork(become, part, line)
            except OSError:  # it was ended, or is ending
                found.close()
                found = None
        if found is None:
            found = _Preloaded(module, going)
            child = found.fork(become, part, line)
        _LOADED[depends] = found
        return _Forked(child, found, going)


# -- the process that has everything loaded ------------------------------------------------------


def fork_on_demand(descriptor: int, load: Callable[[str], None]) -> None:
    """Fork this process as often as one is asked to, until the other end is closed.

    Args:
        descriptor: of this end of the line.
        load: loads a part of what is needed.
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
    """What is forked, and how each of them ended.

    Args:
        descriptor: of the line by which one is asked to fork.
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
        """Wait until one is asked to fork; False: first one that was forked has ended."""
        return self._ended not in wait([self._control, self._ended])

    def fork(self, load: Callable[[str], None]) -> Callable[[], None] | None:
        """Fork as one is asked to.

        Returns:
            In the process that was forked, what it is to do.

        Raises:
            EOFError, ConnectionResetError: nobody will ask any more.
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
        """Let go of what is the parent's alone."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        self._socket.close()
        others = (self._ended, self._ended_end, self._gone_end, *self._news.values())
        for one in (news, *others):
            os.close(one)

    def reap(self) -> None:
        """Tell of those that ended."""
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
    """Take over the surroundings of who asked for this process."""
    os.environ.clear()
    os.environ.update(environment)
    os.fchdir(here)
    for number, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, number)
    for one in (here, *streams):
        os.close(one)
