"""The process that workers are forked from. It loads the target and the cases once.

It has a socket for each pool that it serves: the pool that started it, and pools in other processes
of this machine to which this pool has lent it; see :mod:`gi_cuda.backends.workers.forking` for the
pools' side. It is itself forked from a process that has loaded no target and serves all pools of a
command (see :mod:`gi_cuda.backends.workers.preloaded`), which runs as ``python -m
gi_cuda.backends.workers.fork_server FD``. It holds no device context and has one thread, so a fork
is safe and cheap. When a pool ends, for whatever reason, its workers are killed. The fork server of
``multiprocessing`` can neither load a session's data nor report why a worker ended.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NoReturn

from gi_cuda.backends.process_ids import signal_name
from gi_cuda.backends.processes import Family
from gi_cuda.backends.protocol.device_lock import DeviceLock, WorkerSlot
from gi_cuda.backends.protocol.session import HUNG_STATUS, DeviceId, Session, understood
from gi_cuda.backends.workers.preloaded import Become, fork_on_demand, forked
from gi_cuda.errors import UserError, machine_error
from gi_cuda.results.measurement import Survival

if TYPE_CHECKING:
    from gi_cuda.backends.workers.worker import WorkerContext

OTHER_END_GONE = (EOFError, BrokenPipeError, ConnectionResetError)
"""Exceptions raised when the process at the other end of the socket has ended."""


GOING = 4.0
"""Seconds in which killed workers have to be gone. A driver cleans up after one at a time, which
takes up to 0.7 s each."""


@dataclass(frozen=True, slots=True)
class Forked:
    """Message: a worker was forked."""

    pid: int


@dataclass(frozen=True, slots=True)
class Exit:
    """Message: a worker ended.

    Attributes:
        pid: its process number.
        survival: whether it hung or crashed.
        message: the reason.
        suspect: number of the variant to blame, if the worker named one.
        signal: number of the signal that killed it; None if it exited by itself.
    """

    pid: int
    survival: Survival
    message: str
    suspect: int | None = None
    signal: int | None = None


def exit_reason(pid: int, status: int, words: str) -> Exit:
    """Interpret a wait status: a signal for a CPU limit is a hang, any other signal a crash.

    Args:
        words: the worker's last message.
    """
    last_words, suspect = understood(words)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal_name(number)
        if number in (signal.SIGPROF, signal.SIGXCPU, signal.SIGVTALRM):
            told = last_words or "over its time limit"
            return Exit(pid, Survival.HUNG, told, suspect, number)
        if number == signal.SIGSYS:
            last_words = last_words or "it asks the system for what no device has"
        said = f"{name}: {last_words}" if last_words else name
        return Exit(pid, Survival.CRASHED, said, suspect, number)
    code = os.WEXITSTATUS(status)
    if code == HUNG_STATUS:
        return Exit(pid, Survival.HUNG, last_words or "over its time limit", suspect)
    return Exit(pid, Survival.CRASHED, last_words or f"exit status {code}", suspect)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Message: everything that the workers of a session need is loaded."""


@dataclass(frozen=True, slots=True)
class Lend:
    """Request to serve one more socket, which is sent along."""


def with_all_loaded(become: Become, backend: str, line: socket.socket) -> Family:
    """Fork a process with all code loaded that workers of a back end need; see :func:`forked`."""
    return forked(__name__, become, backend, line, GOING)


class _Line:
    """A pool that the process serves.

    Args:
        descriptor: the process's end of the socket to the pool.
        context: data that its workers need; None until the pool has sent its session.
    """

    def __init__(self, descriptor: int, context: WorkerContext | None) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.control = Connection(os.dup(descriptor))
        self.context = context

    def fileno(self) -> int:
        return self.control.fileno()

    def tell(self, answer: object) -> None:
        """Send a message; do nothing if the pool is gone."""
        with contextlib.suppress(OSError):
            self.control.send(answer)

    def passed(self) -> int:
        """Receive the file descriptor that was sent with a request."""
        _, descriptors, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not descriptors:
            raise EOFError
        return descriptors[0]

    def close(self) -> None:
        self.control.close()
        self.socket.close()


@dataclass(frozen=True, slots=True)
class _Running:
    """A worker that runs.

    Attributes:
        line: its pool.
        words: pipe from which its last message is read.
        lock: lock of its device, in which it has a slot.
    """

    line: _Line
    words: int
    lock: DeviceLock


class _Server:
    """The fork server's event loop.

    Args:
        descriptor: its end of the socket to the pool that started it.
        above: descriptor that becomes readable when the process that it was forked from ends. Then
            the fork server ends, too.
    """

    def __init__(self, descriptor: int, above: int) -> None:
        self._above = above
        self._first = _Line(descriptor, None)
        self._lines: dict[int, _Line] = {}
        self._workers: dict[int, _Running] = {}
        self._locks: dict[int, DeviceLock] = defaultdict(DeviceLock)
        self._ended, ended_end = os.pipe()
        os.set_blocking(ended_end, False)
        signal.set_wakeup_fd(ended_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._poll = select.poll()
        for one in (self._ended, self._above):
            self._poll.register(one, select.POLLIN)
        self._serve(self._first)

    def run(self) -> None:
        """Serve pools until the pool that started this process is gone."""
        try:
            while self._first.fileno() in self._lines:
                for descriptor, _ in self._poll.poll():
                    if descriptor == self._above:
                        return
                    if descriptor == self._ended:
                        os.read(self._ended, 4096)
                        self._reap()
                    elif not self._go_on(line := self._lines[descriptor]):
                        self._leave(line)
        finally:
            self._kill(self._workers)

    def _serve(self, line: _Line) -> None:
        self._lines[line.fileno()] = line
        self._poll.register(line, select.POLLIN)

    def _leave(self, line: _Line) -> None:
        """Forget a pool that is gone, and kill its workers."""
        self._poll.unregister(line)
        del self._lines[line.fileno()]
        self._kill(pid for pid, one in self._workers.items() if one.line is line)
        if line is not self._first:
            line.close()

    def _kill(self, workers: Iterable[int]) -> None:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _go_on(self, line: _Line) -> bool:
        """Handle a pool's next request; False if the pool is gone, or cannot have workers."""
        with contextlib.suppress(*OTHER_END_GONE):
            match line.control.recv():
                case DeviceId() as device:
                    self._fork(line, device)
                    return True
                case Session() as session:
                    return self._open(line, session)
                case Lend():
                    self._serve(_Line(line.passed(), line.context))
                    return True
        return False

    def _open(self, line: _Line, session: Session) -> bool:
        """Load the data of a session, and report success or the error to the pool."""
        from gi_cuda.backends.workers.worker import WorkerContext

        try:
            line.context = WorkerContext.open(session, line.context)
        except UserError as error:
            line.tell(error)
        except (OSError, MemoryError) as error:
            line.tell(machine_error(error))
        else:
            line.tell(Loaded())
            return True
        return False

    def _fork(self, line: _Line, device: DeviceId) -> None:
        descriptor = line.passed()
        words, words_end = os.pipe()
        lock = self._locks[device.number]
        number = lock.free_slot()
        try:
            pid = os.fork()
        except OSError as error:
            for one in (words, words_end, descriptor):
                os.close(one)
            line.tell(machine_error(error))
            return
        if pid == 0:
            os.close(words)
            slot = WorkerSlot(words_end, lock, number)
            os.environ.update(device.environment)
            assert line.context is not None
            self._become_worker(line.context, descriptor, slot)
        os.close(words_end)
        os.close(descriptor)
        lock.taken_by(pid, number)
        self._workers[pid] = _Running(line, words, lock)
        line.tell(Forked(pid))

    def _become_worker(self, context: WorkerContext, descriptor: int, slot: WorkerSlot) -> NoReturn:
        from gi_cuda.backends.workers.worker import serve

        # Nothing reads the output of device code, and a full pipe would hang it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for line in self._lines.values():
            line.close()
        for other in self._workers.values():
            os.close(other.words)
        try:
            serve(context, Connection(descriptor), slot)
        except BaseException as error:
            os.write(slot.words, f"{type(error).__name__}: {error}".encode()[:1000])
            os._exit(1)
        os._exit(0)

    def _reap(self) -> None:
        while self._workers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            gone = self._workers.pop(pid)
            gone.lock.gone(pid)
            os.set_blocking(gone.words, False)
            try:
                text = os.read(gone.words, 4096).decode("utf-8", "replace").strip()
            except BlockingIOError:
                text = ""
            os.close(gone.words)
            gone.line.tell(exit_reason(pid, status, text))


@cache
def _load(backend: str) -> None:
    """Load the code that every worker of a back end needs."""
    import encodings.cp437  # noqa: F401 - for file names in .npz archives

    import numpy.ma  # noqa: F401 - numpy would load it when an oracle first asks

    from gi_cuda.backends.table import backend_named
    from gi_cuda.backends.workers import worker  # noqa: F401

    with contextlib.suppress(Exception):  # opening a session raises it again
        backend_named(backend).device_maker()


def serve_workers(descriptor: int, above: int) -> None:
    """Run the fork server in a forked process; see :func:`with_all_loaded`."""
    gc.enable()
    _Server(descriptor, above).run()


if __name__ == "__main__":
    gc.disable()  # loaded modules never become garbage
    fork_on_demand(int(sys.argv[1]), _load)
