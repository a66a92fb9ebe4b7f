"""A pool of workers that may be killed, some for each of several devices.

A fork server, which has loaded the target, forks workers on demand, so replacing a worker that a
variant killed costs milliseconds. A request goes to the device with the least to do, and stays
there. A device that fails is no longer used, as long as there is another one.
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
from gi_cuda.backends.workers.retired_devices import Left
from gi_cuda.backends.workers.tasks import Key, Unanswered
from gi_cuda.backends.workers.tasks import Lost as Lost
from gi_cuda.backends.workers.tasks import Task as Task
from gi_cuda.backends.workers.tasks import Wants as Wants
from gi_cuda.errors import DeviceLost, MachineError, UserError


class Pool(Generic[Key]):
    """Workers for one session.

    An error that keeps all workers from working, e.g. a target's data that cannot be made, is
    raised when the first worker is needed.

    Args:
        session: the data that every worker loads first.
        crew: numbers of workers of each device.
        devices: devices to use; by default the session's only.
        server: fork server that an earlier pool released, or another process lent.
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
        """Process number of the fork server; its children are the workers."""
        return self._server.process_id

    @property
    def devices(self) -> Mapping[int, DeviceId]:
        """Devices in use, by number. Requests that run once use the first."""
        return {number: one.device for number, one in self._devices.items()}

    @property
    def deaths(self) -> int:
        """Number of workers that died over a request, or that had to be killed."""
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
        """Return the fork server, with its cases, for the next pool. The receiver closes it."""
        self._released = True
        return self._server

    def lend(self) -> Lent:
        """Return a connection to the fork server for a pool with the same cases in another process.

        Raises:
            UserError, WorkerFault: see :meth:`wait`.
        """
        return self._server.lend()

    def ready_for(self, reference: Program) -> None:
        """Let spares prepare for variants of this reference while they wait.

        Of a large reserve only the first few do, since each then holds all buffers.
        """
        for one in self._devices.values():
            one.ready_for(reference)

    def restock(self) -> None:
        """Start as many spares on each device as workers died there since the last call."""
        for one in self._devices.values():
            one.restock()

    def stock(self, count: int) -> None:
        """Start spares on the first device, for ``count`` requests to fresh workers.

        Opening the device between the measurements would disturb them.
        """
        next(iter(self._devices.values())).stock(count)

    # -- requests ----------------------------------------------------------------------------

    def ask(self, request: Request) -> Any:
        """Run a single request in any worker, or in a fresh one if the session is isolated.

        Returns:
            Its answer or :class:`Lost`.

        Raises:
            UserError: see :meth:`wait`.
        """
        return self.one(request, self._wants)

    def one(self, request: Request, wants: Wants = Wants.FRESH) -> Any:
        """Run a single request in a fresh worker of the first device, and start no other.

        Args:
            wants: a requirement on the worker, if another one.

        Returns:
            Its answer or :class:`Lost`.

        Raises:
            UserError: see :meth:`wait`.
        """
        first = next(iter(self._devices))
        tasks = iter([Task(0, request, wants)])
        ((_, answer),) = self._run(tasks, lambda: first)  # type: ignore[arg-type]
        return answer

    def each(self, request: Request) -> dict[int, Any]:
        """Run a request on all devices at the same time.

        Returns:
            Answers by device number, without devices that failed meanwhile.

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
        """Run requests on all workers. Yield ``(key, answer)`` in the order in which they end.

        Closing the generator abandons the other requests.

        Raises:
            UserError: see :meth:`wait`.
        """
        tasks = (Task(key, request, self._wants) for key, request in requests)
        return self._run(tasks, lambda: None)

    def _run(
        self, tasks: Iterator[Task[Key]], place: Callable[[], int | None]
    ) -> Generator[tuple[Key, Any], None, None]:
        """Run tasks.

        Args:
            place: returns the device for the next task; None: any.
        """
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
        """Tell whether a request for any worker would be sent to one at once."""
        return any(one.has_room for one in self._devices.values())

    def submit(self, task: Task[Key], device: int | None = None) -> int:
        """Queue a task.

        Args:
            device: number of the device to use; None: the one with the least to do.

        Returns:
            The number of the device that gets it.
        """
        if device not in self._devices:
            device = min(
                self._devices,
                key=lambda n: (not self._devices[n].has_room, len(self._devices[n].tasks)),
            )
        self._devices[device].submit(task)
        return device

    def wait(self, timeout: float | None = None, *others: int) -> list[tuple[Key, Any]]:
        """Wait until something happens. Return ``(key, answer)`` of each answer that came.

        An answer is the worker's message, :class:`Lost`, or :class:`Unanswered`.

        Args:
            timeout: the most seconds to wait.
            others: descriptors that end the waiting when one of them becomes readable.

        Raises:
            UserError: no worker could open its device, or memory is lacking.
            DeviceLost: the same, but workers could before.
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
        """Drop all tasks, and kill the workers that work on one."""
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
        """Yield the tasks over which workers died."""
        for gone in self._server.take_exits():
            for one in self._devices.values():
                one.ended(gone)
        for one in self._devices.values():
            yield from one.lost()

    # -- devices -----------------------------------------------------------------------------

    def leave(self, device: int, error: UserError | DeviceLost) -> None:
        """Stop using a device. Its tasks become :class:`Unanswered`.

        Args:
            error: the reason; raised if there is no other device.
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
