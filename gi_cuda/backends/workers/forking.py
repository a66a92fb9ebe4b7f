"""A pool's side of the connection to :mod:`gi_cuda.backends.workers.fork_server`."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import ClassVar

from gi_cuda.backends.process_ids import wait_for_end
from gi_cuda.backends.processes import Family
from gi_cuda.backends.protocol.session import DeviceId, Session
from gi_cuda.backends.workers.fork_server import (
    GOING,
    OTHER_END_GONE,
    Exit,
    Forked,
    Lend,
    Loaded,
    serve_workers,
    with_all_loaded,
)
from gi_cuda.errors import MachineError, UserError, WorkerFault

ANSWERING = 30.0
"""Seconds in which a fork server that has loaded everything has to fork a worker."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A connection to a fork server that another pool started, and ends.

    Attributes:
        descriptor: this side's socket.
        pid: the fork server's process number.
    """

    descriptor: int
    pid: int
    was_killed: ClassVar = False

    def ended(self) -> str:
        """Describe how the fork server ended, as a predicate whose subject is the process."""
        return "is gone"


class ForkServer:
    """A pool's connection to a fork server: requests workers and receives reports of their ends.

    Args:
        line: socket to the process. :meth:`serve` has to be called before workers are forked.
        process: the process.
    """

    def __init__(self, line: socket.socket, process: Family | Lent) -> None:
        self._socket, self._process = line, process
        self._control = Connection(os.dup(line.fileno()))
        self._exits: list[Exit] = []
        self._there: set[int] = set()
        self._served = self._loaded = 0

    @classmethod
    def started(cls, session: Session) -> ForkServer:
        """Start a fork server, which ends when this object is closed.

        Args:
            session: data that every worker needs.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            server = cls(ours, with_all_loaded(serve_workers, session.backend, theirs))
        server.serve(session)
        return server

    @classmethod
    def borrowed(cls, lent: Lent) -> ForkServer:
        """Connect to the fork server of a pool in another process; see :meth:`lend`."""
        return cls(socket.socket(fileno=lent.descriptor), lent)

    def serve(self, session: Session) -> None:
        """Fork workers of this session from now on.

        Cases that are loaded already are kept, so a pool may pass its server on to the next one,
        after its workers have ended.
        """
        self._served += 1
        # If the process is gone, forking the first worker raises the error.
        with contextlib.suppress(*OTHER_END_GONE):
            self._control.send(session)

    def lend(self) -> Lent:
        """Make a connection for a pool with the same cases in another process.

        The receiver closes it.

        Raises:
            UserError, MachineError, WorkerFault: see :meth:`fork`.
        """
        while not self._loaded:
            self._hear()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._control.send(Lend())
                socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
        except OTHER_END_GONE:
            ours.close()
            raise self._gone() from None
        return Lent(ours.detach(), self.process_id)

    @property
    def process_id(self) -> int:
        """Process number of the fork server; its children are the workers."""
        return self._process.pid

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a worker has ended."""
        return self._control.fileno()

    def fork(self, device: DeviceId) -> tuple[int, Connection]:
        """Fork a worker. Return its process number and the connection to it.

        The first call waits until everything is loaded; meanwhile other threads compile.

        Args:
            device: the device that the worker opens.

        Raises:
            UserError: no worker can work, e.g. because a target's data cannot be made.
            MachineError: no further process can be made, or the fork server was killed.
            WorkerFault: the fork server ended otherwise, or does not answer.
        """
        self._expect_ready()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._control.send(device)
                socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
            while not isinstance(message := self._answer(), Forked):
                self._take(message)
        except OTHER_END_GONE:
            ours.close()
            raise self._gone() from None
        self._there.add(message.pid)
        return message.pid, Connection(ours.detach())

    def _answer(self) -> Forked | Loaded | Exit | UserError:
        if not self._control.poll(ANSWERING):
            raise WorkerFault(
                f"the process that forks workers, {self.process_id}, did not answer within"
                f" {ANSWERING:g} s"
            )
        answer: Forked | Loaded | Exit | UserError = self._control.recv()
        return answer

    def _gone(self) -> WorkerFault | MachineError:
        """Return the exception for a fork server that has ended.

        It is the largest of all processes, so a system without memory kills it first.
        """
        when = " while it was starting" if self._loaded < self._served else ""
        what = f"the process that forks workers {self._process.ended()}{when}"
        if self._process.was_killed:
            return MachineError(
                what, hint="a system whose memory is full does that: end other programs, and go on"
            )
        return WorkerFault(what)

    def _expect_ready(self) -> None:
        """Wait until all sessions are loaded."""
        while self._loaded < self._served:
            self._hear()

    def take_exits(self) -> list[Exit]:
        """Return the workers that ended since the last call.

        Raises:
            UserError: no worker can work.
            MachineError, WorkerFault: the fork server itself was killed, or ended otherwise.
        """
        while self._control.poll():
            self._hear()
        exits, self._exits = self._exits, []
        return exits

    def _hear(self) -> None:
        """Receive and handle the next message."""
        try:
            self._take(self._control.recv())
        except OTHER_END_GONE:
            raise self._gone() from None

    def _take(self, told: Exit | Loaded | UserError) -> None:
        match told:
            case Exit():
                self._there.discard(told.pid)
                self._exits.append(told)
            case Loaded():
                self._loaded += 1
            case _:
                raise told

    def close(self) -> None:
        """End this pool's workers, and the fork server unless it is borrowed."""
        self._control.close()
        self._socket.close()
        if isinstance(self._process, Lent):
            wait_for_end(self._there, GOING)
        else:
            self._process.end()
