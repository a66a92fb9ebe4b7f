"""Process of one device, which evaluates for a search in another process of this machine.

It runs as ``python -m gi_cuda.cluster.station FD``, loads its modules, and receives its work over a
socket. It ends when the socket closes, e.g. because the search was killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread

from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.workers.forking import ForkServer, Lent
from gi_cuda.cluster.replica import Replica, replica_of
from gi_cuda.errors import DeviceLost, MachineError, UserError, WorkerFault
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases
from gi_cuda.runs.run import open_run

LOOKED = 0.5
"""Seconds between two checks that the search is still there."""

ACCOUNTED = 1.0
"""Seconds between two reports of the time by phase."""


@dataclass(frozen=True, slots=True)
class Opening:
    """First message to a station: the run and the resources to work with.

    Attributes:
        folder: a copy of the run for this process, see :mod:`gi_cuda.cluster.stations`.
        cache: folder and size limit in bytes of a cache of compiled code.
        server: process number of the fork server that holds the search's cases; a socket to it is
            sent after this message.
    """

    folder: Path
    cache: tuple[Path, int] | None
    server: int


@dataclass(frozen=True, slots=True)
class Told:
    """Message from a station: the evaluation of an individual, and time by phase since the last
    report.
    """

    ident: int
    evaluation: Evaluation
    phases: Phases


@dataclass(frozen=True, slots=True)
class Halt:
    """Message to a station: drop all work that was given so far."""


@dataclass(frozen=True, slots=True)
class Halted:
    """Message from a station: the work was dropped."""


class _Inbox:
    """The received messages of a station, read by a thread as they arrive.

    Args:
        line: connection over which individuals in notation, by number, and :class:`Halt` arrive.
    """

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._shares: SimpleQueue[Mapping[int, str]] = SimpleQueue()
        self._gone, self._unwanted = Event(), Event()
        Thread(target=self._read, name="gi-cuda-inbox", daemon=True).start()

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                share: Mapping[int, str] | Halt = self._line.recv()
                if isinstance(share, Halt):
                    self.more()
                    self._unwanted.set()
                    share = {}  # wakes up wait()
                self._shares.put(share)
        self._gone.set()
        self._shares.put({})

    @property
    def closed(self) -> bool:
        """Tell whether the connection is closed."""
        return self._gone.is_set()

    def stop(self) -> bool:
        """Tell whether the current work is to be dropped."""
        return self._gone.is_set() or self._unwanted.is_set()

    def halt(self) -> bool:
        """Tell whether the work so far was to be dropped, and reset that flag for new work."""
        halted = self._unwanted.is_set()
        self._unwanted.clear()
        return halted

    def more(self) -> dict[int, str]:
        """Return the work that has arrived since the last call."""
        return self._with({})

    def wait(self) -> dict[int, str]:
        """Return the next work; empty if none arrives within :data:`LOOKED` seconds."""
        try:
            return self._with(self._shares.get(timeout=LOOKED))
        except Empty:
            return {}

    def _with(self, first: Mapping[int, str]) -> dict[int, str]:
        found = dict(first)
        with suppress(Empty):
            while True:
                found |= self._shares.get_nowait()
        return found


def serve(line: Connection) -> None:
    """Evaluate the work that arrives over a connection, until the connection is closed.

    A fatal error is sent over the connection.
    """
    try:
        opening: Opening = line.recv()
        lent = Lent(recv_handle(line), opening.server)
    except (EOFError, OSError):  # the search is gone
        return
    inbox = _Inbox(line)
    try:
        cache = CodeCache(*opening.cache, _complain) if opening.cache else None
        server = ForkServer.borrowed(lent)
        with open_run(opening.folder, cache, server) as run:
            helper = replica_of(run)
            helper.evaluator.get_ready()
            while not inbox.closed:
                if share := inbox.wait():
                    _evaluate(helper, share, inbox, line.send)
                if inbox.halt():
                    line.send(Halted())
    except (BrokenPipeError, ConnectionResetError):
        return
    except (UserError, DeviceLost, WorkerFault) as error:
        said = MachineError(str(error)) if isinstance(error, WorkerFault) else error
        with suppress(OSError):
            line.send(said)


def _evaluate(
    helper: Replica, share: Mapping[int, str], inbox: _Inbox, send: Callable[[Told], None]
) -> None:
    accounted = time.monotonic()
    for ident, evaluation in helper.results(share, inbox.stop, inbox.more):
        assert isinstance(evaluation, Evaluation)
        phases, now = Phases(), time.monotonic()
        if now - accounted > ACCOUNTED:
            phases, accounted = helper.evaluator.take_phases(), now
        send(Told(ident, evaluation, phases))


def _complain(said: str) -> None:
    print(f"gi-cuda: {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Pickled messages name their module, which is `__main__` here; so use the imported module.
    from gi_cuda.cluster import station

    station.serve(Connection(int(sys.argv[1])))
