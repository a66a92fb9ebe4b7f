"""The workers of one device, some of them spares that have opened the device already.

Each worker has a connection of its own and answers one request after the other, so the request that
a dead worker was working on is always known.

Opening a device disturbs measurements on it. So spares are made before there is anything to measure
(:meth:`DeviceWorkers.restock`), and during a measurement only when there is none left.

Each worker holds a context and the buffers of all cases. There are fewer workers on a device whose
memory does not suffice, e.g. because other programs use it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, Generic

from gi_cuda.backends.process_ids import say_left_behind, wait_for_end
from gi_cuda.backends.processes import GOING
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import GetReady, Refused
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.workers.fork_server import Exit
from gi_cuda.backends.workers.forking import ForkServer
from gi_cuda.backends.workers.tasks import Key, Lost, Task, Wants
from gi_cuda.backends.workers.worker_process import WorkerProcess
from gi_cuda.errors import DeviceLost, MachineError, NoRoom, UserError
from gi_cuda.results.measurement import Survival

PATIENCE = 600.0
"""Seconds of wall time after which a worker that does not answer is killed from outside.

The worker's own limit counts device or CPU time, so it does not fire on a busy machine.
"""


CLEARED = 20.0
"""Seconds in which the system cleans up after an ending worker; one stuck in a driver never
ends."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The numbers of a device's workers.

    Attributes:
        number: workers that run at a time.
        depth: requests that a worker is sent before it answers, so that it need not wait for the
            next.
        extra: further workers for requests that need one for themselves; without, these have to
            wait.
        reserve: the most spares that are made ahead of time.
        alike: the most requests of one kind that a worker answers if they may share a fresh worker.
    """

    number: int
    depth: int = 1
    extra: int = 0
    reserve: int = 0
    alike: int = 1


class DeviceWorkers(Generic[Key]):
    """Workers that share a device.

    Args:
        server: forks the workers.
        device: the device.
        crew: numbers of workers.

    Attributes:
        answered: whether one of them has answered a request.
        deaths: number of workers that died over a request, or that had to be killed.
    """

    def __init__(self, server: ForkServer, device: DeviceId, crew: Crew) -> None:
        self._server = server
        self.device = device
        self._number, self._depth = crew.number, crew.depth
        self._extra, self._reserve, self._alike = crew.extra, crew.reserve, crew.alike
        self._workers: dict[int, WorkerProcess[Key]] = {}
        self._waiting: deque[Task[Key]] = deque()
        self._alone: deque[Task[Key]] = deque()
        self._uses = count(1)
        self.deaths = self._restocked = 0
        self.answered = self._tight = False
        self._warm_up: GetReady | None = None

    def close(self) -> None:
        """Close the connections to all workers. Another thread may still start some."""
        for worker in list(self._workers.values()):
            worker.connection.close()
        self._workers.clear()

    @property
    def tasks(self) -> list[Task[Key]]:
        """All tasks that wait or that workers have."""
        sent = (task for one in self._workers.values() for task in one.sent)
        return [*sent, *self._alone, *self._waiting]

    # -- making ready ------------------------------------------------------------------------

    def ready_for(self, reference: Program) -> None:
        """Let a few spares prepare for variants of a reference: each then holds all buffers."""
        self._warm_up = GetReady(reference)
        for worker in self._fresh()[: max(1, self._extra)]:
            self._warm(worker)

    def restock(self) -> None:
        """Start as many spares as workers died since the last call: about as many will die next."""
        died, self._restocked = self.deaths - self._restocked, self.deaths
        self.stock(max(died, self._extra))

    def stock(self, count: int) -> None:
        """Start spares until there are ``count``, or the size of the reserve if that is less."""
        for _ in range(len(self._fresh()), min(count, self._reserve)):
            self._fork()

    def _fork(self) -> WorkerProcess[Key]:
        worker: WorkerProcess[Key] = WorkerProcess(*self._server.fork(self.device))
        self._workers[worker.pid] = worker
        return worker

    def _warm(self, worker: WorkerProcess[Key]) -> None:
        if self._warm_up is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                worker.connection.send(self._warm_up)

    def _idle(self) -> list[WorkerProcess[Key]]:
        return [one for one in self._workers.values() if not one.sent]

    def _fresh(self) -> list[WorkerProcess[Key]]:
        """Return the workers that never got a request, the oldest first."""
        return [one for one in self._idle() if one.fresh]

    def _busy(self) -> list[WorkerProcess[Key]]:
        return [one for one in self._workers.values() if one.busy]

    # -- requests ----------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        """Tell whether a request for any worker would be sent to one at once."""
        if self._waiting or (self._alone and not self._extra):
            return False
        return self._has_place() or bool(self._short())

    def submit(self, task: Task[Key]) -> None:
        """Queue a task for the workers."""
        (self._alone if task.alone else self._waiting).append(task)
        self.dispatch()

    def abandon(self) -> None:
        """Drop all tasks, and kill the workers that work on one."""
        self._waiting.clear()
        self._alone.clear()
        for worker in [one for one in self._workers.values() if one.sent]:
            self._end(worker)

    # -- sending -----------------------------------------------------------------------------

    def _has_place(self) -> bool:
        """Tell whether one more worker may start to work."""
        busy = self._busy()
        crew = sum(not one.alone for one in busy)
        return crew < self._number and len(busy) < self._number + self._extra

    def _short(self) -> list[WorkerProcess[Key]]:
        """Return the busy workers that may be sent more requests ahead."""
        return [one for one in self._busy() if not one.alone and len(one.sent) < self._depth]

    def dispatch(self) -> None:
        """Send queued tasks until every worker has as many as it may be sent ahead."""
        while True:
            if len(self._busy()) > 1 and not self._fresh() and not self._tight:
                # Not during a single request: opening the device would disturb its timing.
                self._warm(self._fork())
            while self._alone and len(self._busy()) < self._number + self._extra:
                if self._tight:
                    self._end_idle()
                worker = self._lonely(self._alone[0])
                if self._send(worker, self._alone):
                    worker.alone = True
            if not self._waiting or (self._alone and not self._extra):
                return  # without an extra worker, another one has to get free
            if self._has_place():
                self._send(self._take(), self._waiting)
            elif not (short := self._short()):
                return
            elif not self._send(min(short, key=lambda one: len(one.sent)), self._waiting):
                return  # it died over an earlier request; receiving will find out

    def _lonely(self, task: Task[Key]) -> WorkerProcess[Key]:
        """Return a worker for a task that needs one for itself."""
        if task.wants is Wants.ALIKE and (kept := self._kept()):
            return max(kept, key=lambda one: one.used)
        return next(iter(self._fresh()), None) or self._fork()

    def _kept(self) -> list[WorkerProcess[Key]]:
        """Return the idle workers that may answer more requests of their kind."""
        return [one for one in self._idle() if 0 < one.alike < self._alike]

    def _take(self) -> WorkerProcess[Key]:
        """Return a worker for any task: of the idle ones, the one that was used last."""
        kept = self._kept()
        free = [one for one in self._idle() if one not in kept]
        return max(free, key=lambda one: one.used, default=None) or self._fork()

    def _send(self, worker: WorkerProcess[Key], tasks: deque[Task[Key]]) -> bool:
        """Send the first of some tasks to a worker. Return False if the worker is dead."""
        try:
            worker.connection.send(tasks[0].request)
        except (BrokenPipeError, ConnectionResetError):
            if not worker.sent:
                self._forget(worker)  # it died while idle; the caller tries another one
            return False
        if not worker.sent:
            worker.deadline = time.monotonic() + PATIENCE
        worker.used = next(self._uses)
        worker.sent.append(task := tasks.popleft())
        more = task.wants in (Wants.FIRST, Wants.ALIKE)
        worker.alike = worker.alike + 1 if more else self._alike
        return True

    # -- receiving ---------------------------------------------------------------------------

    @property
    def connections(self) -> list[Connection]:
        """Connections that become readable when a worker has answered or died."""
        return [one.connection for one in self._busy()]

    @property
    def deadlines(self) -> list[float]:
        """Times, by :func:`time.monotonic`, at which workers are over their limit."""
        return [one.deadline for one in self._workers.values() if one.busy or one.ending]

    @property
    def any(self) -> bool:
        """Tell whether there is a worker."""
        return bool(self._workers)

    def receive(self, connection: Connection) -> Iterator[tuple[Key, Any]]:
        """Yield the next answer of the worker behind a connection; nothing if it died.

        Raises:
            UserError: it could not open its device, or lacks memory, and no worker could before.
            DeviceLost: the same, but other workers could before.
        """
        (worker,) = (one for one in self._busy() if one.connection is connection)
        try:
            answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            worker.connection.close()
            self.deaths += 1
            worker.deadline = time.monotonic() + CLEARED
            self._give_back(worker)
            return
        if isinstance(answer, UserError):
            self._put_back(worker.sent)
            self._forget(worker)
            if isinstance(answer, NoRoom) and self._make_do(answer):
                return
            told = isinstance(answer, MachineError) or not self.answered
            raise answer if told else DeviceLost(answer.what)
        self.answered = True
        task = worker.sent[0]
        if _lacks_room(answer) and worker.again is not task and self._end_idle():
            worker.again = task
            worker.sent.rotate(-1)
            with suppress(BrokenPipeError, ConnectionResetError):  # receiving will find out
                worker.connection.send(task.request)
            return
        worker.sent.popleft()
        worker.deadline = time.monotonic() + PATIENCE
        worker.used = next(self._uses)
        kept = self._kept()
        over = worker if worker.alone and worker not in kept else None
        if worker in kept and len(kept) > max(1, self._extra):
            # More are kept than can work at a time.
            over = min(kept, key=lambda one: one.used)
            over.alike = self._alike
        used = [one for one in self._idle() if not (one.fresh or one is over or one in kept)]
        if over is not None and len(used) >= self._number + self._extra:
            self._end(over)
        worker.alone = False
        yield task.key, answer

    def _put_back(self, tasks: Iterable[Task[Key]]) -> None:
        """Put tasks that no worker works on back to the front of the queues."""
        for task in reversed(list(tasks)):
            (self._alone if task.alone else self._waiting).appendleft(task)

    def _give_back(self, worker: WorkerProcess[Key]) -> None:
        """Put tasks that a worker was sent ahead back into the queues."""
        while len(worker.sent) > 1:
            self._put_back([worker.sent.pop()])

    def _make_do(self, error: NoRoom) -> bool:
        """Continue with fewer workers, kill idle ones. Return whether this frees memory."""
        if not self._tight:
            said = f"{self.device.words or 'the device'} has no room for so many workers"
            print(f"gi-cuda: {said} ({error.what}); going on with fewer", file=sys.stderr)
        more = bool(self._extra or self._reserve or not self._tight)
        self._tight, self._extra, self._reserve = True, 0, 0
        if self._end_idle():
            return True
        more |= self._number > 1
        self._number = max(1, self._number - 1)
        return more and bool(self._workers)

    def _end_idle(self) -> bool:
        """Kill idle workers to free their memory. Return whether there were any."""
        idle = self._idle()
        for worker in idle:
            self._end(worker)
        wait_for_end([worker.pid for worker in idle], GOING)
        return bool(idle)

    def ended(self, gone: Exit) -> None:
        """Record the end of a worker, if it is one of these."""
        if gone.pid in self._workers:
            self._workers[gone.pid].exit = gone

    def lost(self) -> Iterator[tuple[Key, Lost]]:
        """Yield the tasks over which workers died, once it is known how they ended."""
        for worker in list(self._workers.values()):
            if worker.exit is not None and not worker.busy:
                self._forget(worker)
                how = worker.exit
                for task in worker.sent:
                    yield task.key, Lost(how.survival, how.message, how.suspect, how.signal)

    def overdue(self) -> Iterator[tuple[Key, Lost]]:
        """Yield the tasks that took too long, and kill their workers."""
        now = time.monotonic()
        for worker in self._busy():
            if worker.deadline <= now:
                self._give_back(worker)
                self._end(worker)
                self.deaths += 1
                message = f"no answer within {PATIENCE:g} s; killed"
                yield worker.sent[0].key, Lost(Survival.HUNG, message)

        for worker in [one for one in self._workers.values() if one.ending]:
            if worker.deadline <= now:
                self._forget(worker)
                say_left_behind(worker.pid)
                message = f"its process does not end within {CLEARED:g} s; it is left behind"
                yield worker.sent[0].key, Lost(Survival.CRASHED, message)

    def _end(self, worker: WorkerProcess[Key]) -> None:
        if not worker.connection.closed:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
        self._forget(worker)

    def _forget(self, worker: WorkerProcess[Key]) -> None:
        worker.connection.close()
        del self._workers[worker.pid]


def _lacks_room(answer: object) -> bool:
    """Tell whether a request, or one of its parts, was refused for lack of device memory."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    return any(isinstance(one, Refused) and one.room for one in parts)
