"""A pool's end of a line to the process that workers are forked from: see
:mod:`gi_cuda.backends.workers.fork_server`."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import ClassVar

from gi_cuda.backends.processes import Family, wait_for_end
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
"""Seconds in which a process that has everything loaded has to have forked a worker."""


@dataclass(frozen=True, slots=True)
class Lent:
    """A line to a process that another pool started, and ends.

    Attributes:
        descriptor: of this end.
        pid: the process's number.
    """

    descriptor: int
    pid: int
    was_killed: ClassVar = False

    def ended(self) -> str:
        """How it ended, as the rest of a sentence of which it is the subject."""
        return "is gone"


class ForkServer:
    """A pool's end of a line to the process: has it fork workers, hears of their ends.

    Args:
        line: to it; :meth:`serve` says first what its workers need.
        process: it.
    """

    def __init__(self, line: socket.socket, process: Family | Lent) -> None:
        self._socket, self._process = line, process
        self._control = Connection(os.dup(line.fileno()))
        self._exits: list[Exit] = []
        self._there: set[int] = set()
        self._served = self._loaded = 0

    @classmethod
    def started(cls, session: Session) -> ForkServer:
        """A process of its own, which ends with it.

        Args:
            session: what every worker needs to have loaded.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            server = cls(ours, with_all_loaded(serve_workers, session.backend, theirs))
        server.serve(session)
        return server

    @classmethod
    def borrowed(cls, lent: Lent) -> ForkServer:
        """That of a pool in another process; see :meth:`lend`."""
        return cls(socket.socket(fileno=lent.descriptor), lent)

    def serve(self, session: Session) -> None:
        """From now on, fork workers of this session. What there is of its cases already is not made
        again, so a pool may leave its server to the next one; it has ended its workers then."""
        self._served += 1
        # That it is gone comes out when the first worker is needed.
        with contextlib.suppress(*OTHER_END_GONE):
            self._control.send(session)

    def lend(self) -> Lent:
        """A line by which another process of this machine has workers forked for a pool of its own,
        which knows the cases of this one. Who is given it closes it.

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
        """What to say of the process once it has ended. It is the largest of all, so that a system
        without memory kills it first."""
        when = " while it was starting" if self._loaded < self._served else ""
        what = f"the process that forks workers {self._process.ended()}{when}"
        if self._process.was_killed:
            return MachineError(
                what, hint="a system whose memory is full does that: end other programs, and go on"
            )
        return WorkerFault(what)

    def _expect_ready(self) -> None:
        """Wait until all is loaded that it was to load."""
        while self._loaded < self._served:
            self._hear()

    def take_exits(self) -> list[Exit]:
        """The workers that ended since the last call.

        Raises:
            UserError: what keeps workers from working at all.
            MachineError, WorkerFault: the process itself was killed, or ended otherwise.
        """
        while self._control.poll():
            self._hear()
        exits, self._exits = self._exits, []
        return exits

    def _hear(self) -> None:
        """Take what is told next."""
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
        """End it, unless it was lent, and this pool's workers; nothing of theirs needs to be
        brought to an end."""
        self._control.close()
        self._socket.close()
        if isinstance(self._process, Lent):
            wait_for_end(self._there, GOING)
        else:
            self._process.end()
