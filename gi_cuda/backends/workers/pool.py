"""A pool of killable workers with warm spares.

The pool speaks to a fork server, which has the target loaded and forks workers on demand: a worker
that a variant took down costs milliseconds. Each worker has a connection of its own; one request
after the other is answered, so it is always known which one a dead worker was at.

Opening a device disturbs what is being measured on it, so spares are made before there is anything
to measure (:meth:`Pool.restock`), and beside a measurement only when there is none left.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar, cast

from gi_cuda.backends.protocol.requests import GetReady, Program, Request
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.threads import ONE_THREAD
from gi_cuda.backends.workers.fork_server import Forked, Gone
from gi_cuda.errors import UserError, WorkerFault
from gi_cuda.results.measurement import Survival

Key = TypeVar("Key")

PATIENCE = 600.0
"""Seconds of wall time after which a request that never answers is killed from outside.

The worker's own limit counts device or CPU time and does not fire because the machine is busy;
this one is for what that limit cannot see."""


MOMENT = 0.01
"""Seconds after which a source of tasks that had none ready is asked again."""


class _End:
    """No more tasks."""


_END = _End()


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker died over a request: how (a signal or our own limit) and what it said last.

    Attributes:
        suspect: number of the variant that it died over, where it could tell.
    """

    survival: Survival
    message: str
    suspect: int | None = None


@dataclass(frozen=True, slots=True)
class Alone:
    """A request for a fresh worker, which gets no other one."""

    request: Request


Task = tuple[Key, Request | Alone]


@dataclass(slots=True, eq=False)
class _Worker(Generic[Key]):
    """A worker and what it was sent, the oldest first: that is what it is at."""

    pid: int
    connection: Connection
    sent: deque[tuple[Key, Request]] = field(default_factory=deque)
    deadline: float = 0.0
    fresh: bool = True
    alone: bool = False


class Pool(Generic[Key]):
    """Workers for one session.

    What keeps them from working at all, as a target's data that cannot be made, comes out when the
    first one is needed.

    Args:
        session: what every worker loads first.
        workers: how many run at a time.
        depth: requests a worker is sent ahead, so that it need not wait for the next one.
        extra: workers beyond these for requests that want one alone; without any, such a request
            waits until another one is done.
        reserve: most fresh workers that are made ready beforehand.
    """

    def __init__(
        self,
        session: Session,
        workers: int,
        depth: int = 1,
        extra: int = 0,
        reserve: int = 0,
    ) -> None:
        self._workers = workers
        self._depth = depth
        self._extra = extra
        self._reserve = reserve
        self._died = 0
        self._warm_up: GetReady | None = None
        ours, theirs = socket.socketpair()
        self._fork_server = subprocess.Popen(
            [sys.executable, "-m", "gi_cuda.backends.workers.fork_server", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._control = Connection(os.dup(ours.fileno()))
        self._socket = ours
        self._idle: deque[_Worker[Key]] = deque()
        self._again: deque[tuple[Key, Request]] = deque()
        self._alone: deque[tuple[Key, Request]] = deque()
        self._statuses: dict[int, Gone] = {}
        self._control.send(session)
        self._ready = False

    def _expect_ready(self) -> None:
        """Wait until the fork server has loaded all; meanwhile others compile what is to be run."""
        if self._ready:
            return
        try:
            answer = self._control.recv()
        except EOFError:
            raise WorkerFault("the worker process ended while it was starting") from None
        if isinstance(answer, Exception):
            raise answer
        self._ready = True

    @property
    def process_id(self) -> int:
        """The fork server's process number; its children are the workers."""
        return self._fork_server.pid

    def __enter__(self) -> Pool[Key]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers and the fork server."""
        for worker in self._idle:
            worker.connection.close()
        self._idle.clear()
        if not self._ready:
            self._fork_server.kill()  # it has no workers, and nobody needs what it is loading
        self._control.close()
        self._socket.close()
        try:
            self._fork_server.wait(5)
        except subprocess.TimeoutExpired:
            self._fork_server.kill()
            self._fork_server.wait()

    def _fork(self) -> _Worker[Key]:
        self._expect_ready()
        ours, theirs = socket.socketpair()
        try:
            self._control.send("fork")
            socket.send_fds(self._socket, [b"f"], [theirs.fileno()])
        finally:
            theirs.close()
        while not isinstance(message := self._control.recv(), Forked):
            self._note(message)
        return _Worker(message.pid, Connection(ours.detach()))

    def _warm(self, worker: _Worker[Key]) -> None:
        if self._warm_up is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                worker.connection.send(self._warm_up)

    def _note(self, message: object) -> None:
        if isinstance(message, Gone):
            self._statuses[message.pid] = message

    def ready_for(self, reference: Program) -> None:
        """From now on, fresh workers make themselves ready for variants of this reference while
        they wait for the first one. Of a large reserve only the first few do: each then holds all
        buffers."""
        self._warm_up = GetReady(reference)
        fresh = [worker for worker in self._idle if worker.fresh]
        for worker in fresh[: max(1, self._extra)]:
            self._warm(worker)

    def restock(self) -> None:
        """Have fresh workers open the device, as many as died since the last call: about so many
        will."""
        for _ in range(self._fresh(), min(max(self._died, self._extra), self._reserve)):
            self._idle.append(self._fork())
        self._died = 0

    def _take(self) -> _Worker[Key]:
        """A worker that is ready."""
        return self._idle.popleft() if self._idle else self._fork()

    def _take_fresh(self) -> _Worker[Key]:
        """A worker that was never asked anything, for a single request."""
        worker = next((one for one in self._idle if one.fresh), None)
        if worker is None:
            worker = self._fork()
        else:
            self._idle.remove(worker)
        worker.alone = True
        return worker

    def _fresh(self) -> int:
        """How many wait that were never asked anything."""
        return sum(one.fresh for one in self._idle)

    def one(self, request: Request) -> Any:
        """Run a single request in a fresh worker; its answer or :class:`Lost`. No other worker
        starts meanwhile.

        Raises:
            UserError: see :meth:`map`.
        """
        ((_, answer),) = self.map([(None, Alone(request))])  # type: ignore[list-item]
        return answer

    def map(self, tasks: Iterable[Task[Key] | None]) -> Iterator[tuple[Key, Any]]:
        """Run requests on all workers; yields ``(key, answer)`` in the order they end.

        An answer is what the worker sent, or :class:`Lost`. While ``tasks`` gives None, nothing is
        ready yet, and it is asked again a moment later; so tasks may depend on answers.

        Raises:
            UserError: a worker could not open its device; no request will fare better.
        """
        waiting = iter(tasks)
        busy: dict[Connection, _Worker[Key]] = {}
        dying: dict[int, Key] = {}
        self._again.clear()
        self._alone.clear()
        try:
            while True:
                more = self._feed(busy, waiting)
                if not busy and not dying and not more:
                    return
                soonest = min((one.deadline for one in busy.values()), default=math.inf)
                wait_for = max(0.0, min(soonest - time.monotonic(), MOMENT if more else math.inf))
                for connection in self._wait(busy, dying, wait_for):
                    worker = busy.pop(connection)
                    key, _ = worker.sent.popleft()
                    try:
                        answer = self._receive(worker)
                    except (EOFError, ConnectionResetError):
                        dying[worker.pid] = key
                        continue
                    if worker.sent:
                        busy[connection] = worker
                    yield key, answer
                for pid in [pid for pid in dying if pid in self._statuses]:
                    gone = self._statuses.pop(pid)
                    yield dying.pop(pid), Lost(gone.survival, gone.message, gone.suspect)
                for worker in self._overdue(busy):
                    key, _ = worker.sent.popleft()
                    self._again.extend(worker.sent)
                    self._end(worker)
                    self._died += 1
                    message = f"no answer within {PATIENCE:g} s; killed"
                    yield key, Lost(Survival.HUNG, message)
        finally:
            for worker in busy.values():
                self._end(worker)

    def _wait(
        self, busy: dict[Connection, _Worker[Key]], dying: dict[int, Key], seconds: float
    ) -> list[Connection]:
        """The connections on which answers have come, within so many seconds. Until a worker that
        died is gone altogether, the fork server is listened to as well."""
        sources = [*busy, self._control] if dying else list(busy)
        if not sources:
            time.sleep(seconds)
            return []
        found = cast(list[Connection], wait(sources, None if seconds == math.inf else seconds))
        if self._control in found:
            found.remove(self._control)
            try:
                self._note(self._control.recv())
            except EOFError:
                raise WorkerFault("the fork_server process ended") from None
        return found

    def _feed(
        self, busy: dict[Connection, _Worker[Key]], waiting: Iterator[Task[Key] | None]
    ) -> bool:
        """Send requests until every worker has as many as it may be sent ahead; whether none was
        ready though the workers could take more."""
        while True:
            if len(busy) > 1 and not self._fresh():
                # Not beside a single request: opening the device would disturb what it times.
                self._idle.append(self._fork())
                self._warm(self._idle[-1])
            while self._alone and len(busy) < self._workers + self._extra:
                self._send(busy, self._take_fresh(), self._alone.popleft())
            if self._alone and not self._extra:
                return False  # nobody is sent anything, so that a place gets free
            crew = [worker for worker in busy.values() if not worker.alone]
            short = [worker for worker in crew if len(worker.sent) < self._depth]
            free = len(crew) < self._workers and len(busy) < self._workers + self._extra
            if not (free or short):
                return False
            if self._again:
                task: tuple[Key, Request] = self._again.popleft()
            else:
                given = next(waiting, _END)
                if given is None:
                    return True
                if isinstance(given, _End):
                    return False
                key, request = given
                if isinstance(request, Alone):
                    self._alone.append((key, request.request))
                    continue
                task = (key, request)
            worker = self._take() if free else min(short, key=lambda one: len(one.sent))
            if not self._send(busy, worker, task) and not free:
                return False  # it died over what it was sent before; that comes out on receiving

    def _send(
        self, busy: dict[Connection, _Worker[Key]], worker: _Worker[Key], task: tuple[Key, Request]
    ) -> bool:
        """Send a request to a worker; one that is dead gets none, and others will have it."""
        if not worker.sent:
            worker.deadline = time.monotonic() + PATIENCE
        try:
            worker.connection.send(task[1])
        except (BrokenPipeError, ConnectionResetError):
            (self._alone if worker.alone else self._again).appendleft(task)
            if not worker.sent:
                worker.connection.close()  # it died while idle; the next one will do
            return False
        worker.fresh = False
        worker.sent.append(task)
        busy[worker.connection] = worker
        return True

    def _receive(self, worker: _Worker[Key]) -> Any:
        """A worker's next answer.

        Raises:
            EOFError: it died. What it was sent ahead goes to others.
            UserError: it has no device.
        """
        try:
            answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            worker.connection.close()
            self._again.extend(worker.sent)
            worker.sent.clear()
            self._died += 1
            raise
        if isinstance(answer, UserError):
            worker.connection.close()
            raise answer
        worker.deadline = time.monotonic() + PATIENCE
        if worker.alone and len(self._idle) - self._fresh() >= self._workers + self._extra:
            self._end(worker)
        elif not worker.sent:
            worker.alone = False
            self._idle.appendleft(worker)
        return answer

    @staticmethod
    def _overdue(busy: dict[Connection, _Worker[Key]]) -> list[_Worker[Key]]:
        now = time.monotonic()
        late = [connection for connection, worker in busy.items() if worker.deadline <= now]
        return [busy.pop(connection) for connection in late]

    def _end(self, worker: _Worker[Key]) -> None:
        os.kill(worker.pid, signal.SIGKILL)
        worker.connection.close()
