"""The process that workers are forked from: target and cases are loaded here once.

Run as ``python -m gi_cuda.backends.workers.fork_server FD``. It holds no device context and has one
thread, so a fork is safe and cheap. When the pool goes away, however it goes, the workers go too.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NoReturn

from gi_cuda.backends.protocol.device_lock import DeviceLock, WorkerSlot
from gi_cuda.backends.protocol.session import HUNG_STATUS, Session, understood
from gi_cuda.errors import UserError
from gi_cuda.results.measurement import Survival

_POOL_GONE = (EOFError, BrokenPipeError, ConnectionResetError)
"""How it shows that the pool's process ended, at whatever moment; nothing is to be said then."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A worker was forked."""

    pid: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker ended; ``suspect`` is the number of the variant that it says it ended over."""

    pid: int
    survival: Survival
    message: str
    suspect: int | None = None


def exit_reason(pid: int, status: int, words: str) -> Gone:
    """What a wait status says: a CPU limit is a hang, any other signal a crash."""
    last_words, suspect = understood(words)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name
        if number in (signal.SIGPROF, signal.SIGXCPU, signal.SIGVTALRM):
            return Gone(pid, Survival.HUNG, last_words or "over its time limit", suspect)
        said = f"{name}: {last_words}" if last_words else name
        return Gone(pid, Survival.CRASHED, said, suspect)
    code = os.WEXITSTATUS(status)
    if code == HUNG_STATUS:
        return Gone(pid, Survival.HUNG, last_words or "over its time limit", suspect)
    return Gone(pid, Survival.CRASHED, last_words or f"exit status {code}", suspect)


class _ForkServer:
    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._control = Connection(os.dup(descriptor))
        self._last_words: dict[int, int] = {}
        self._lock = DeviceLock()
        self._ended, ended_end = os.pipe()
        os.set_blocking(ended_end, False)
        signal.set_wakeup_fd(ended_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        from gi_cuda.backends.workers.worker import WorkerContext

        try:
            session: Session = self._control.recv()
        except _POOL_GONE:
            return
        try:
            answer: WorkerContext | UserError = WorkerContext.open(session)
        except UserError as error:
            answer = error
        with contextlib.suppress(*_POOL_GONE):
            if isinstance(answer, UserError):
                self._control.send(answer)
                return
            self._control.send("ready")
            try:
                self._serve(answer)
            finally:
                for pid in self._last_words:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def _serve(self, context: object) -> None:
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._ended, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._ended:
                    os.read(self._ended, 4096)
                    self._reap()
                    continue
                self._control.recv()
                self._fork(context)

    def _fork(self, context: object) -> None:
        _, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        if not descriptors:
            raise EOFError
        (descriptor,) = descriptors
        words, words_end = os.pipe()
        number = self._lock.free_slot()
        pid = os.fork()
        if pid == 0:
            os.close(words)
            slot = WorkerSlot(words_end, self._lock, number)
            self._become_worker(context, descriptor, slot)
        os.close(words_end)
        os.close(descriptor)
        self._last_words[pid] = words
        self._lock.taken_by(pid, number)
        self._control.send(Forked(pid))

    def _become_worker(self, context: object, descriptor: int, slot: WorkerSlot) -> NoReturn:
        from gi_cuda.backends.workers.worker import WorkerContext, serve

        # What device code prints is nobody's to read, and a full pipe would hang it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._socket.close()
        self._control.close()
        for other in self._last_words.values():
            os.close(other)
        assert isinstance(context, WorkerContext)
        try:
            serve(context, Connection(descriptor), slot)
        except BaseException as error:
            os.write(slot.words, f"{type(error).__name__}: {error}".encode()[:1000])
            os._exit(1)
        os._exit(0)

    def _reap(self) -> None:
        while self._last_words:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            words = self._last_words.pop(pid)
            self._lock.gone(pid)
            os.set_blocking(words, False)
            try:
                text = os.read(words, 4096).decode("utf-8", "replace").strip()
            except BlockingIOError:
                text = ""
            os.close(words)
            self._control.send(exit_reason(pid, status, text))


if __name__ == "__main__":
    # The module must be the one that pickles name, not __main__.
    from gi_cuda.backends.workers import fork_server

    fork_server._ForkServer(int(sys.argv[1])).run()
