"""Compiler that distributes compile jobs to a dask cluster, while this machine measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import ClassVar

from gi_cuda.backends.compile.caching.cached import CachedCompiler
from gi_cuda.backends.compile.delegating import DelegatingCompiler
from gi_cuda.backends.compile.shards import new_shard
from gi_cuda.backends.process_registry import Stopped, process_registry
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Compiler, Phenotype
from gi_cuda.cluster.compiling import Order, Parcel, compiling, tools_of_compiler
from gi_cuda.cluster.meeting import Meeting
from gi_cuda.cluster.members import Members
from gi_cuda.cluster.package import package_of
from gi_cuda.evaluate.batches.batch import STOP_ASKED
from gi_cuda.evaluate.evaluator import Evaluator
from gi_cuda.runs.run import Run


class Desk:
    """Dispatcher of compile jobs, which routes results to the builds that wait for them.

    Args:
        members: the workers that compile.
    """

    def __init__(self, members: Members) -> None:
        self._members = members
        self._numbers, self._builds = count(), count()
        self._queues: dict[int, SimpleQueue[tuple[int, Parcel]]] = {}
        self._closed = False
        self._fault: Exception | None = None
        self._thread = Thread(target=self._deliver, name="gi-cuda-desk", daemon=True)
        self._thread.start()

    @property
    def threads(self) -> int:
        """Number of compiler processes at a time."""
        return max(1, self._members.threads)

    @property
    def idle(self) -> int:
        """Number of further compiler processes that could start now, if each order keeps one
        busy.
        """
        return max(0, self.threads - len(self._queues))

    def close(self) -> None:
        """Stop the delivery of results."""
        self._closed = True
        self._thread.join()

    def compiled(self, stage: int, phenotypes: Sequence[Phenotype]) -> Iterator[Parcel]:
        """Compile a batch and yield its parcels.

        A parcel whose file was already sent comes after the parcel with the file's content.

        Raises:
            Stopped: the batch was cancelled.
            UserError: no workers are left.
        """
        queue: SimpleQueue[tuple[int, Parcel]] = SimpleQueue()
        build = next(self._builds)
        orders = {next(self._numbers): Order(build, stage, one) for one in phenotypes}
        self._queues |= dict.fromkeys(orders, queue)
        left = set(orders)
        self._members.give(orders)
        try:
            while left:
                try:
                    number, parcel = queue.get(timeout=STOP_ASKED)
                except Empty:
                    if process_registry().is_cut:
                        raise Stopped from None
                    if self._fault is not None:
                        raise self._fault from None
                    continue
                left.remove(number)
                del self._queues[number]
                yield parcel
        finally:
            self._members.take_back(left)
            for number in left:
                del self._queues[number]

    def _deliver(self) -> None:
        while not self._closed:
            try:
                for number, parcel in self._members.news(STOP_ASKED).items():
                    if queue := self._queues.get(number):
                        queue.put((number, parcel))
            except Exception as error:
                self._fault = error
                return


@dataclass(frozen=True, slots=True)
class ClusterCompiler(DelegatingCompiler):
    """A compiler that lets a cluster compile, and delegates everything else to a local compiler.

    Attributes:
        desk: dispatches the compile jobs.
        stage: see :class:`gi_cuda.cluster.compiling.Order`.
    """

    desk: Desk = field(compare=False)
    stage: int = 0
    disturbs: ClassVar[bool] = False

    @property
    def jobs(self) -> int:
        """Number of compiler processes at a time, of all workers together."""
        return self.desk.threads

    @property
    def idle(self) -> int:
        """Number of further compiler processes that could start now."""
        return self.desk.idle

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        """Compile a batch on the cluster, and write the binaries to the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        placed: dict[str, Path] = {}
        for parcel in self.desk.compiled(self.stage, phenotypes):
            built = parcel.built
            if isinstance(built, BuildFailure):
                yield built
                continue
            if parcel.content is not None:
                path = new_shard(folder).with_suffix(built.path.suffix)
                path.write_bytes(parcel.content)
                placed[parcel.file] = path
            yield replace(built, path=placed[parcel.file])

    def apart(self) -> Compiler:
        """Return the local compiler's variant for separate compilation, since it is rarely used."""
        return self.inner.apart()

    def rehearsing(self) -> tuple[Compiler, ...]:
        """Return the compilers for rehearsals, which compile on the cluster too."""
        found = enumerate(self.inner.rehearsing(), 1)
        return tuple(ClusterCompiler(one, self.desk, stage) for stage, one in found)


@contextmanager
def compiled_by(
    meeting: Meeting,
    tell: Callable[[str], None],
    run: Run,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Evaluator]:
    """Yield an evaluator that measures with the run's own workers and compiles on a cluster.

    The workers of the cluster are released at the end of the context.

    Args:
        meeting: the cluster's scheduler.
        tell: receives a message that says which workers take part.
        stop: if it returns True, waiting for workers ends.

    Raises:
        UserError: no worker is found, or none can take part.
    """
    plain = run.tools.uncached
    package = replace(package_of(run), answers={}, tools=tools_of_compiler(plain))
    members = Members(meeting, compiling, package)
    with closing(members):
        tell(f"compiling on {members.open(stop)}")
        with closing(Desk(members)) as desk:
            compiler: Compiler = ClusterCompiler(plain, desk)
            if isinstance(run.tools.compiler, CachedCompiler):
                compiler = replace(run.tools.compiler, inner=compiler)
            yield replace(run, tools=replace(run.tools, compiler=compiler)).evaluator()
