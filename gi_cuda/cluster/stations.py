"""Evaluation on several devices of this machine, with one process for each device.

Besides compiling and running, a search needs about ten milliseconds of Python for each individual.
One interpreter runs on one core, so already with two devices and 32 cores it would be the
bottleneck.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import send_handle
from pathlib import Path

from gi_cuda.backends.compile.caching.cached import CachedCompiler
from gi_cuda.backends.processes import Process
from gi_cuda.backends.workers.forking import Lent
from gi_cuda.backends.workers.retired_devices import Left
from gi_cuda.cluster.evaluator import ClusterEvaluator
from gi_cuda.cluster.package import FACTS, make_run
from gi_cuda.cluster.station import Halt, Halted, Opening, Told
from gi_cuda.errors import DeviceLost, MachineError, UserError
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.results.generation import Phases
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan, stored_grammar_files, stored_start, where_it_lies

LEAVING = 3.0
"""Seconds within which a process has to drop its work or end; then it is killed."""


class Station:
    """A process that loads its modules and then waits for individuals to evaluate.

    Attributes:
        words: name of its device.
        has: work that it was given and has not returned, by number.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "gi_cuda.cluster.station", str(theirs.fileno())]
            self.process = Process(command, pass_fds=[theirs.fileno()])
        self.line = Connection(ours.detach())
        self.words = ""
        self.has: dict[int, str] = {}

    def open(self, words: str, opening: Opening, server: Lent) -> None:
        """Give the process a device.

        Args:
            server: a connection to the fork server that holds the search's cases; it is passed on.
        """
        self.words = words
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # news() notices its end
                self.line.send(opening)
                send_handle(self.line, server.descriptor, self.process.pid)
        finally:
            os.close(server.descriptor)

    def end(self) -> None:
        """End the process."""
        self.line.close()
        self.process.end()


@contextmanager
def stations(number: int) -> Iterator[list[Station]]:
    """Yield a list of new processes, which load their modules while a search is prepared.

    A caller that takes a process out of the list has to end it. The others end with the context.
    """
    left: list[Station] = []
    try:
        left += (Station() for _ in range(number))
        yield left
    finally:
        for one in left:
            one.end()


class Stations:
    """The processes of several devices, which evaluate individuals.

    Args:
        run: the run whose individuals they evaluate.
        devices: device numbers for each process, as in a plan, by name of the device.
        ready: running processes; those that are needed are taken out of the list.
    """

    def __init__(
        self, run: Run, devices: Mapping[str, tuple[int, ...]], ready: list[Station]
    ) -> None:
        self._devices = len(devices)
        self._phases = Phases()
        self._stations: list[Station] = []
        self._left = Left()
        jobs = max(1, run.plan.jobs // len(devices))
        compiler = run.tools.compiler
        cache = None
        if isinstance(compiler, CachedCompiler):
            cache = compiler.cache.folder, compiler.cache.limit
        each = zip(run.plan.devices, run.baseline.on_each, strict=False)
        times: dict[tuple[int, ...], float] = {(device,): seconds for device, seconds in each}
        for number, (words, own) in enumerate(devices.items()):
            plan = replace(run.plan, jobs=jobs, devices=own)
            seconds = times.get(own, run.baseline.seconds)
            baseline = replace(run.baseline, seconds=seconds, on_each=())
            folder = _copied(run, f"station-{number}", plan, baseline)
            server = run.tools.pool.lend()
            station = ready.pop() if ready else Station()
            self._stations.append(station)
            station.open(words, Opening(folder, cache, server.pid), server)

    def close(self) -> None:
        """End all processes."""
        for one in self._stations:
            one.line.close()
        until = time.monotonic() + LEAVING
        for one in self._stations:
            one.process.finish(max(0.0, until - time.monotonic()))

    def take_phases(self) -> Phases:
        """Return the wall time since the last call, by phase: the mean over all devices."""
        phases, self._phases = self._phases, Phases()
        return phases

    def give(self, work: Mapping[int, str]) -> None:
        """Send each individual to the process with the least work.

        Raises:
            MachineError: no process is left.
        """
        if not self._stations:
            raise MachineError(
                "the processes that evaluate on its devices are gone",
                hint="look at `gi-cuda doctor`, and go on",
            )
        shares: list[dict[int, str]] = [{} for _ in self._stations]
        for number, genotype in sorted(work.items()):
            least = min(range(len(shares)), key=lambda at: len(self._stations[at].has))
            self._stations[least].has[number] = shares[least][number] = genotype
        for station, share in zip(self._stations, shares, strict=True):
            with suppress(BrokenPipeError, ConnectionResetError):  # news() notices its end
                if share:
                    station.line.send(share)

    def take_back(self, numbers: Collection[int]) -> None:
        """Cancel all work, and return when no process works any more.

        The devices are then free for timings. A process that does not stop within :data:`LEAVING`
        seconds is ended.
        """
        if not numbers:
            return
        until = time.monotonic() + LEAVING
        busy = {one.line: one for one in self._stations}
        for station in busy.values():
            station.has.clear()
            with suppress(BrokenPipeError, ConnectionResetError):  # news() notices its end
                station.line.send(Halt())
        while busy and (left := until - time.monotonic()) > 0:
            for line in wait(list(busy), left):
                assert isinstance(line, Connection)
                if not self._is_busy(busy[line]):
                    del busy[line]
        for station in busy.values():
            self._end(station)

    def _is_busy(self, station: Station) -> bool:
        """Receive a message, and tell whether the process may still work: it sent another
        result.

        Raises:
            DeviceLost, UserError: the process cannot go on, and no other is left.
        """
        try:
            told: Told | Halted | UserError | DeviceLost = station.line.recv()
            if isinstance(told, UserError | DeviceLost):
                self._leave(station, told)
            return isinstance(told, Told)
        except (EOFError, ConnectionResetError):
            return False

    def news(self, patience: float) -> Mapping[int, object]:
        """Return the evaluations that arrived, by number; wait at most ``patience`` seconds.

        Raises:
            DeviceLost: the last device is lost.
            UserError: no process can evaluate any more.
        """
        found: dict[int, object] = {}
        lines = {one.line: one for one in self._stations}
        for line in wait(list(lines), patience):
            assert isinstance(line, Connection)
            self._hear(lines[line], found)
        return found

    def _hear(self, station: Station, found: dict[int, object]) -> None:
        """Receive all messages of a process."""
        try:
            while station.line.poll():
                told: Told | Halted | UserError | DeviceLost = station.line.recv()
                if isinstance(told, Halted):
                    continue
                if not isinstance(told, Told):
                    self._leave(station, told)
                    return
                station.has.pop(told.ident, None)
                found[told.ident] = told.evaluation
                shares = (one / self._devices for one in asdict(told.phases).values())
                self._phases += Phases(*shares)
                self._left.say([one.words for one in self._stations])
        except (EOFError, ConnectionResetError):
            said = f"the process that evaluates on it {station.process.ended()}"
            hint = "look at `gi-cuda doctor`, and go on"
            self._leave(station, MachineError(said, where=station.words, hint=hint))

    def _leave(self, station: Station, error: UserError | DeviceLost) -> None:
        """Give up a process, and give its work to the others.

        Args:
            error: the reason; raised if no other process is left.
        """
        self._end(station)
        if not self._stations:
            raise error
        self._left.add(station.words, error)
        self.give(station.has)

    def _end(self, station: Station) -> None:
        self._stations.remove(station)
        station.end()


def _copied(run: Run, name: str, plan: Plan, baseline: Baseline) -> Path:
    """Create a copy of a run without its individuals, for one process; return its folder.

    Args:
        plan: plan of the copy, with the process's own devices.
        baseline: baseline of the copy, with the reference's time on these devices.
    """
    folder = run.tools.scratch(name)
    facts = {fact: run.store.get(fact) for fact in FACTS}
    facts |= {"plan": asdict(plan), "baseline": asdict(baseline)}
    target, files = run.subject.target.folder, stored_grammar_files(run.store, run.folder)
    facts |= where_it_lies(target.absolute(), [one.absolute() for one in files], folder)
    make_run(folder, facts, stored_start(run.store))
    (folder / run.tools.reference.name).symlink_to(run.tools.reference.absolute())
    return folder


@dataclass(slots=True)
class DevicesEvaluator(ClusterEvaluator):
    """An evaluator that uses several devices, with one process for each.

    Attributes:
        members: the processes.
    """

    members: Stations

    def take_phases(self) -> Phases:
        """Return the wall time spent since the last call, by phase; for devices the mean."""
        return self.local.take_phases() + self.members.take_phases()


@contextmanager
def evaluated_on_each(
    run: Run,
    devices: Mapping[str, tuple[int, ...]] | None = None,
    ready: list[Station] | None = None,
) -> Iterator[DevicesEvaluator]:
    """Yield an evaluator with one process for each device of a run; they end with the context.

    Args:
        devices: see :class:`Stations`; None for each of the run's devices.
        ready: see :class:`Stations`; None for no processes.
    """
    if devices is None:
        devices = {one.words: (one.number,) for one in run.tools.backend.devices}
    with closing(Stations(run, devices, ready or [])) as members:
        yield DevicesEvaluator(run.evaluator(), members)
