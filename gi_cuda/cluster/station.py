"""The process of a device: it evaluates for a search that goes on in another process of this
machine.

It runs as ``python -m gi_cuda.cluster.station FD``, loads what it needs, and is told over a line
what to do; when that is gone, as when the search was killed, it ends.
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

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.backends.workers.forking import ForkServer, Lent
from gi_cuda.cluster.replica import Replica, replica_of
from gi_cuda.errors import DeviceLost, MachineError, UserError, WorkerFault
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases
from gi_cuda.runs.run import open_run

LOOKED = 0.5
"""Seconds after which it is looked again whether there is a search."""

ACCOUNTED = 1.0
"""Seconds after which it is told again where time went."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a device's process works on.

    Attributes:
        folder: of a run that is its own, see :mod:`gi_cuda.cluster.stations`.
        cache: of compiled code, and how many bytes it may take, if there is one.
        server: the number of the process that forks the search's workers, and has their cases; a
            line to it comes after this.
    """

    folder: Path
    cache: tuple[Path, int] | None
    server: int


@dataclass(frozen=True, slots=True)
class Told:
    """What became of an individual, and where time went since that was last told."""

    ident: int
    evaluation: Evaluation
    phases: Phases


@dataclass(frozen=True, slots=True)
class Halt:
    """What was given so far is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Halted:
    """It is left."""


class _Inbox:
    """What comes over the line, which is read as it comes.

    Args:
        line: individuals in notation come over it, by their numbers, or :class:`Halt`.
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
                    share = {}  # who waits is to see that
                self._shares.put(share)
        self._gone.set()
        self._shares.put({})

    @property
    def closed(self) -> bool:
        """Whether nobody is at the other end any more."""
        return self._gone.is_set()

    def stop(self) -> bool:
        """Whether what came is not wanted any more."""
        return self._gone.is_set() or self._unwanted.is_set()

    def halt(self) -> bool:
        """Whether what came was not wanted any more; what comes from now on is."""
        halted = self._unwanted.is_set()
        self._unwanted.clear()
        return halted

    def more(self) -> dict[int, str]:
        """What has come since the last call."""
        return self._with({})

    def wait(self) -> dict[int, str]:
        """What comes next; nothing if that takes too long."""
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
    """Evaluate what comes over a line, until it is closed.

    What goes wrong for good is sent as an error.
    """
    try:
        opening: Opening = line.recv()
        lent = Lent(recv_handle(line), opening.server)
    except (EOFError, OSError):  # there is no search after all
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
    # What is sent is known by the module's name, which is not what this one is called here.
    from gi_cuda.cluster import station

    station.serve(Connection(int(sys.argv[1])))
