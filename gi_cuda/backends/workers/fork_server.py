"""The process that workers are forked from: target and cases are loaded there once.

It is forked itself, from one that has loaded no target yet and serves all pools of a command (see
:mod:`gi_cuda.backends.workers.preloaded`): that one runs as
``python -m gi_cuda.backends.workers.fork_server FD``. It holds no device context and has one
thread, so a fork is safe and cheap. When the pool goes away, however it goes, the workers go too.
The fork server of ``multiprocessing`` can neither load what only the session knows nor say why a
worker ended.
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
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NoReturn

from gi_cuda.backends.processes import Family
from gi_cuda.backends.protocol.device_lock import DeviceLock, WorkerSlot
from gi_cuda.backends.protocol.session import HUNG_STATUS, DeviceId, Session, understood
from gi_cuda.backends.workers.preloaded import Become, fork_on_demand, forked
from gi_cuda.errors import MachineError, UserError, WorkerFault, machine_error
from gi_cuda.results.measurement import Survival

if TYPE_CHECKING:
    from gi_cuda.backends.workers.worker import WorkerContext

_OTHER_END_GONE = (EOFError, BrokenPipeError, ConnectionResetError)
"""How it shows that the process at the other end of the line ended, at whatever moment."""


GOING = 4.0
"""Seconds in which workers that were killed have to be gone: a driver clears one after the other
away, which takes it up to 0.7 s each."""

ANSWERING = 30.0
"""Seconds in which a process that has everything loaded has to have forked a worker."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A worker was forked."""

    pid: int


@dataclass(frozen=True, slots=True)
class Exit:
    """A worker ended.

    Attributes:
        suspect: number of the variant that it says it ended over.
        signal: that ended it; None where it ended by itself.
    """

    pid: int
    survival: Survival
    message: str
    suspect: int | None = None
    signal: int | None = None


def exit_reason(pid: int, status: int, words: str) -> Exit:
    """What a wait status says: a CPU limit is a hang, any other signal a crash."""
    last_words, suspect = understood(words)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name
        if number in (signal.SIGPROF, signal.SIGXCPU, signal.SIGVTALRM):
            told = last_words or "over its time limit"
            return Exit(pid, Survival.HUNG, told, suspect, number)
        said = f"{name}: {last_words}" if last_words else name
        return Exit(pid, Survival.CRASHED, said, suspect, number)
    code = os.WEXITSTATUS(status)
    if code == HUNG_STATUS:
        return Exit(pid, Survival.HUNG, last_words or "over its time limit", suspect)
    return Exit(pid, Survival.CRASHED, last_words or f"exit status {code}", suspect)


class ForkServer:
    """The pool's end of the line: starts the process, has it fork workers, hears of their ends.

    Args:
        session: what every worker needs to have loaded.
    """

    def __init__(self, session: Session) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = with_all_loaded(_serve_workers, session.backend, theirs)
        self._control = Connection(os.dup(self._socket.fileno()))
        self._exits: list[Exit] = []
        self._ready = False
        self.serve(session)

    def serve(self, session: Session) -> None:
        """From now on, fork workers of this session. What there is of its cases already is not made
        again, so a pool may leave its server to the next one; it has ended its workers then."""
        self._ready = False
        # That it is gone comes out when the first worker is needed.
        with contextlib.suppress(*_OTHER_END_GONE):
            self._control.send(session)

    @property
    def process_id(self) -> int:
        """Its process number; its children are the workers."""
        return self._process.pid

    def fileno(self) -> int:
        """What can be read once a worker has ended."""
        return self._control.fileno()

    def fork(self, device: DeviceId) -> tuple[int, Connection]:
        """A new worker's process number and the connection to it.

        The first one comes when all is loaded; meanwhile others compile what is to be run.

        Args:
            device: that it is to open.

        Raises:
            UserError: what keeps workers from working at all, as a target's data that cannot be
                made.
            MachineError: there is no room for one more process, or the process was killed.
            WorkerFault: it ended otherwise, or does not answer.
        """
        self._expect_ready()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._control.send(device)
                socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
            while not isinstance(message := self._answer(), Forked):
                self._exits.append(message)
        except _OTHER_END_GONE:
            ours.close()
            raise self._gone("") from None
        return message.pid, Connection(ours.detach())

    def _answer(self) -> Forked | Exit:
        if not self._control.poll(ANSWERING):
            raise WorkerFault(
                f"the process that forks workers, {self.process_id}, did not answer within"
                f" {ANSWERING:g} s"
            )
        answer: Forked | Exit | MachineError = self._control.recv()
        if isinstance(answer, MachineError):
            raise answer
        return answer

    def _gone(self, when: str) -> WorkerFault | MachineError:
        """What to say of the process once it has ended. It is the largest of all, so that a system
        without memory kills it first."""
        what = f"the process that forks workers {self._process.ended()}{when}"
        if self._process.was_killed:
            return MachineError(
                what, hint="a system whose memory is full does that: end other programs, and go on"
            )
        return WorkerFault(what)

    def _expect_ready(self) -> None:
        if self._ready:
            return
        try:
            while isinstance(answer := self._control.recv(), Exit):
                self._exits.append(answer)  # of a worker of an earlier session
        except _OTHER_END_GONE:
            raise self._gone(" while it was starting") from None
        if isinstance(answer, Exception):
            raise answer
        self._ready = True

    def take_exits(self) -> list[Exit]:
        """The workers that ended since the last call.

        Raises:
            MachineError, WorkerFault: the process itself was killed, or ended otherwise.
        """
        try:
            while self._ready and self._control.poll():
                self._exits.append(self._control.recv())
        except _OTHER_END_GONE:
            raise self._gone("") from None
        exits, self._exits = self._exits, []
        return exits

    def close(self) -> None:
        """End it, and its workers with it; nothing of theirs needs to be brought to an end."""
        self._control.close()
        self._socket.close()
        self._process.end()


def with_all_loaded(become: Become, backend: str, line: socket.socket) -> Family:
    """A process in which all is loaded that workers of a back end need; see :func:`forked`."""
    return forked(__name__, become, backend, line, GOING)


class _Server:
    """What the process does.

    Args:
        descriptor: of its end of the line.
        above: can be read once the process that it was forked from is gone, which it does not
            outlive.
    """

    def __init__(self, descriptor: int, above: int) -> None:
        self._above = above
        self._socket = socket.socket(fileno=descriptor)
        self._control = Connection(os.dup(descriptor))
        self._last_words: dict[int, int] = {}
        self._locks: dict[int, DeviceLock] = defaultdict(DeviceLock)
        self._lock_of: dict[int, DeviceLock] = {}
        self._ended, ended_end = os.pipe()
        os.set_blocking(ended_end, False)
        signal.set_wakeup_fd(ended_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        # Nobody is left who could be told anything once the other end is gone.
        with contextlib.suppress(*_OTHER_END_GONE):
            context = self._opened(self._control.recv(), None)
            if context is None:
                return
            try:
                self._serve(context)
            finally:
                for pid in self._last_words:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def _opened(self, session: Session, before: WorkerContext | None) -> WorkerContext | None:
        """What workers of a session have loaded, and says so; None, and why, if they cannot.

        Args:
            before: what those of an earlier session had.
        """
        from gi_cuda.backends.workers.worker import WorkerContext

        try:
            answer: WorkerContext | UserError = WorkerContext.open(session, before)
        except UserError as error:
            answer = error
        except (OSError, MemoryError) as error:
            answer = machine_error(error)
        if isinstance(answer, UserError):
            self._control.send(answer)
            return None
        self._control.send("ready")
        return answer

    def _serve(self, context: WorkerContext) -> None:
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._ended, select.POLLIN)
        poll.register(self._above, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._above:
                    return
                if descriptor == self._ended:
                    os.read(self._ended, 4096)
                    self._reap()
                    continue
                wanted: DeviceId | Session = self._control.recv()
                if isinstance(wanted, DeviceId):
                    self._fork(context, wanted)
                elif found := self._opened(wanted, context):
                    context = found
                else:
                    return

    def _fork(self, context: WorkerContext, device: DeviceId) -> None:
        _, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        if not descriptors:
            raise EOFError
        (descriptor,) = descriptors
        words, words_end = os.pipe()
        lock = self._locks[device.number]
        number = lock.free_slot()
        try:
            pid = os.fork()
        except OSError as error:
            for one in (words, words_end, descriptor):
                os.close(one)
            self._control.send(machine_error(error))
            return
        if pid == 0:
            os.close(words)
            slot = WorkerSlot(words_end, lock, number)
            os.environ.update(device.environment)
            self._become_worker(context, descriptor, slot)
        os.close(words_end)
        os.close(descriptor)
        self._last_words[pid] = words
        lock.taken_by(pid, number)
        self._lock_of[pid] = lock
        self._control.send(Forked(pid))

    def _become_worker(self, context: WorkerContext, descriptor: int, slot: WorkerSlot) -> NoReturn:
        from gi_cuda.backends.workers.worker import serve

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
            self._lock_of.pop(pid).gone(pid)
            os.set_blocking(words, False)
            try:
                text = os.read(words, 4096).decode("utf-8", "replace").strip()
            except BlockingIOError:
                text = ""
            os.close(words)
            self._control.send(exit_reason(pid, status, text))


@cache
def _load(backend: str) -> None:
    """Load what every worker of a back end needs."""
    import encodings.cp437  # noqa: F401 - of the names in an archive of arrays

    import numpy.ma  # noqa: F401 - numpy would load it when an oracle first asks

    from gi_cuda.backends.table import backend_named
    from gi_cuda.backends.workers import worker  # noqa: F401

    with contextlib.suppress(Exception):  # comes out again where a session is opened
        backend_named(backend).device_maker()


def _serve_workers(descriptor: int, above: int) -> None:
    gc.enable()
    _Server(descriptor, above).run()


if __name__ == "__main__":
    gc.disable()  # nothing of what is loaded becomes garbage
    fork_on_demand(int(sys.argv[1]), _load)
