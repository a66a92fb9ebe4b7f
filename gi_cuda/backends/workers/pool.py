"""A pool of killable workers, some for each of several devices.

A fork server, which has the target loaded, forks workers on demand: a worker that a variant took
down costs milliseconds. What is asked of them goes to the device that has least to do, and stays
there. A device that cannot be used any more is left, as long as there is another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from typing import Any, Generic

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import Request
from gi_cuda.backends.protocol.session import DeviceId, Session
from gi_cuda.backends.workers.device_workers import Crew, DeviceWorkers
from gi_cuda.backends.workers.forking import ForkServer, Lent
from gi_cuda.backends.workers.left import Left
from gi_cuda.backends.workers.tasks import Key, Unanswered
from gi_cuda.backends.workers.tasks import Lost as Lost
from gi_cuda.backends.workers.tasks import Task as Task
from gi_cuda.backends.workers.tasks import Wants as Wants
from gi_cuda.errors import DeviceLost, MachineError, UserError


class Pool(Generic[Key]):
    """Workers for one session.

    What keeps them from working at all, as a target's data that cannot be made, comes out when the
    first one is needed.

    Args:
        session: what every worker loads first.
        crew: the workers of each device.
        devices: that they run on; by default the session's alone.
        server: that an earlier pool released, or another process lent, by which this one forks its
            workers.
    """

    def __init__(
        self,
        session: Session,
        crew: Crew,
        devices: Sequence[DeviceId] = (),
        server: ForkServer | None = None,
    ) -> None:
        if server is None:
            server = ForkServer.started(session)
        else:
            server.serve(session)
        self._server = server
        self._wants = Wants.FRESH if session.isolated else Wants.ANY
        self._released = False
        self._devices: dict[int, DeviceWorkers[Key]] = {
            one.number: DeviceWorkers(self._server, one, crew)
            for one in devices or (session.device,)
        }
        self._unanswered: list[tuple[Key, Unanswered[Key]]] = []
        self._left = Left()
        self._deaths = 0

    @property
    def process_id(self) -> int:
        """The fork server's process number; its children are the workers."""
        return self._server.process_id

    @property
    def devices(self) -> Mapping[int, DeviceId]:
        """Those that are used, by number; what is run once runs on the first one."""
        return {number: one.device for number, one in self._devices.items()}

    @property
    def deaths(self) -> int:
        """Workers that ended over a request, or that had to be ended."""
        return self._deaths + sum(one.deaths for one in self._devices.values())

    def __enter__(self) -> Pool[Key]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, and the fork server unless it was released."""
        for one in self._devices.values():
            one.close()
        if not self._released:
            self._server.close()

    def release(self) -> ForkServer:
        """The fork server, which has the cases, for the next pool; whoever takes it closes it."""
        self._released = True
        return self._server

    def lend(self) -> Lent:
        """A line to the fork server for a pool in another process, which knows the same cases.

        Raises:
            UserError, WorkerFault: see :meth:`wait`.
        """
        return self._server.lend()

    def ready_for(self, reference: Program) -> None:
        """From now on, fresh workers make themselves ready for variants of this reference while
        they wait for the first one. Of a large reserve only the first few do: each then holds all
        buffers."""
        for one in self._devices.values():
            one.ready_for(reference)

    def restock(self) -> None:
        """Have fresh workers open their device, as many as died there since the last call: about so
        many will."""
        for one in self._devices.values():
            one.restock()

    def stock(self, count: int) -> None:
        """Have fresh workers open the first device, for so many requests that are to be measured
        in a process of their own: what opens it meanwhile disturbs them."""
        next(iter(self._devices.values())).stock(count)

    # -- requests ----------------------------------------------------------------------------

    def ask(self, request: Request) -> Any:
        """Run a single request in a worker that is there, in a fresh one where variants are kept
        apart; its answer or :class:`Lost`.

        Raises:
            UserError: see :meth:`wait`.
        """
        return self.one(request, self._wants)

    def one(self, request: Request, wants: Wants = Wants.FRESH) -> Any:
        """Run a single request in a fresh worker of the first device; its answer or :class:`Lost`.
        No other worker starts meanwhile.

        Args:
            wants: another worker.

        Raises:
            UserError: see :meth:`wait`.
        """
        first = next(iter(self._devices))
        tasks = iter([Task(0, request, wants)])
        ((_, answer),) = self._run(tasks, lambda: first)  # type: ignore[arg-type]
        return answer

    def each(self, request: Request) -> dict[int, Any]:
        """Run a request on every device at a time, in a worker that is there; what became of it by
        their numbers. Of a device that is left meanwhile there is no answer.

        Raises:
            UserError: see :meth:`wait`.
        """
        numbers = list(self._devices)
        tasks = (Task(number, request, self._wants) for number in numbers)
        places = iter(numbers)
        answers = dict(self._run(tasks, lambda: next(places)))  # type: ignore[arg-type]
        return {number: answers[number] for number in self._devices}  # type: ignore[index]

    def map(
        self, requests: Iterable[tuple[Key, Request]]
    ) -> Generator[tuple[Key, Any], None, None]:
        """Run requests on all workers; yields ``(key, answer)`` in the order they end. Closing it
        abandons the others.

        Raises:
            UserError: see :meth:`wait`.
        """
        tasks = (Task(key, request, self._wants) for key, request in requests)
        return self._run(tasks, lambda: None)

    def _run(
        self, tasks: Iterator[Task[Key]], place: Callable[[], int | None]
    ) -> Generator[tuple[Key, Any], None, None]:
        """Run tasks, each on the device that is asked for then, if it is still used."""
        try:
            while True:
                while self.has_room and (task := next(tasks, None)):
                    self.submit(task, place())
                if not self._outstanding:
                    return
                for key, answer in self.wait():
                    if isinstance(answer, Unanswered):
                        self.submit(answer.task)
                    else:
                        yield key, answer
        finally:
            self.abandon()

    @property
    def _outstanding(self) -> bool:
        return bool(self._unanswered) or any(one.tasks for one in self._devices.values())

    @property
    def has_room(self) -> bool:
        """Whether a request would be sent to a worker at once, unless it wants one alone."""
        return any(one.has_room for one in self._devices.values())

    def submit(self, task: Task[Key], device: int | None = None) -> int:
        """Have a request answered; it waits while workers have no room for it.

        Args:
            device: that it is for; None: the one that has least to do.

        Returns:
            The number of the device that it goes to.
        """
        if device not in self._devices:
            device = min(
                self._devices,
                key=lambda n: (not self._devices[n].has_room, len(self._devices[n].tasks)),
            )
        self._devices[device].submit(task)
        return device

    def wait(self, timeout: float | None = None, *others: int) -> list[tuple[Key, Any]]:
        """Wait until something happens; ``(key, answer)`` of each answer that has come, if any.

        An answer is what the worker sent, :class:`Lost`, or :class:`Unanswered`.

        Args:
            timeout: most seconds to wait.
            others: descriptors; that one of them can be read ends the waiting, too.

        Raises:
            UserError: no worker could open its device, or they lack room; no request fares better.
            DeviceLost: the same, where others could before.
            MachineError, WorkerFault: there are no workers any more.
        """
        devices = list(self._devices.values())
        for one in devices:
            one.dispatch()
        if answers := [*self._moved(), *self._lost()]:
            return answers
        sources: list[Any] = [c for one in devices for c in one.connections]
        sources += others
        if any(one.any for one in devices):
            sources.append(self._server)
        limits = [moment - time.monotonic() for one in devices for moment in one.deadlines]
        limits += [] if timeout is None else [timeout]
        found = wait(sources, max(0.0, min(limits)) if limits else None)
        for one in devices:
            for connection in one.connections:
                if connection in found and one.device.number in self._devices:
                    answers += self._received(one, connection)
        answers += self._lost()
        for one in self._devices.values():
            answers += one.overdue()
        return [*answers, *self._moved()]

    def abandon(self) -> None:
        """Forget all requests, and end the workers that are at one."""
        self._unanswered.clear()
        for one in self._devices.values():
            one.abandon()

    def _received(self, one: DeviceWorkers[Key], connection: Any) -> list[tuple[Key, Any]]:
        try:
            answers = list(one.receive(connection))
        except MachineError:
            raise
        except (UserError, DeviceLost) as error:
            self.leave(one.device.number, error)
            return []
        if one.answered:
            self._left.say([one.words for one in self.devices.values()])
        return answers

    def _lost(self) -> Iterator[tuple[Key, Lost]]:
        """The requests over which workers died."""
        for gone in self._server.take_exits():
            for one in self._devices.values():
                one.ended(gone)
        for one in self._devices.values():
            yield from one.lost()

    # -- devices -----------------------------------------------------------------------------

    def leave(self, device: int, error: UserError | DeviceLost) -> None:
        """Go on without a device; what it was to answer is :class:`Unanswered`.

        Args:
            error: why; raised where there is no other one.
        """
        if self._devices.keys() == {device}:
            raise error
        if device not in self._devices:
            return
        one = self._devices.pop(device)
        self._unanswered += [(task.key, Unanswered(task)) for task in one.tasks]
        self._deaths += one.deaths
        one.abandon()
        one.close()
        self._left.add(one.device.words, error)
        if any(other.answered for other in self._devices.values()):
            self._left.say([one.words for one in self.devices.values()])

    def _moved(self) -> list[tuple[Key, Any]]:
        moved, self._unanswered = self._unanswered, []
        return list(moved)
