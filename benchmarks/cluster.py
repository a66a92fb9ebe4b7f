"""Measure the overhead of a cluster: a search with evaluations of fixed duration on dask's workers.

Nothing is compiled or measured. Each individual takes a worker ``--workers`` / ``--rate`` seconds,
in which it sleeps, so that all workers together could evaluate ``--rate`` individuals a second. For
comparison, as many threads of the search's own process do the same, one individual after the other.
Prints how much longer evaluation took than necessary, breeding aside: without a cluster, with
worker processes, and with two of them killed after a third of all individuals.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from distributed import Client
from xxhash import xxh3_128_digest

from gi_cuda.cluster.evaluator import ClusterEvaluator
from gi_cuda.cluster.machine import Share
from gi_cuda.cluster.meeting import meeting_at
from gi_cuda.cluster.members import Members
from gi_cuda.cluster.package import Package
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.search import find_preset
from gi_cuda.search.loop import Evolution
from gi_cuda.store import Store
from gi_cuda.subject import Subject

WRONG = Evaluation(True, Survival.NORMAL, penalty=1.0, message="nobody looked")


@dataclass(frozen=True, slots=True)
class Idle:
    """A worker that sleeps instead of evaluating.

    Attributes:
        each: seconds for an individual.
    """

    each: float
    seconds: float = 1e-3
    floor: float = 0.01

    def results(
        self, share: Share, stop: Callable[[], bool], more: Callable[[], Share]
    ) -> Iterator[tuple[int, Evaluation]]:
        """Sleep for each individual and yield its result."""
        left, due = dict(share), time.monotonic()
        while left and not stop():
            ident = next(iter(left))
            del left[ident]
            due += self.each
            time.sleep(max(0.0, due - time.monotonic()))
            yield ident, WRONG
            left |= more()


@contextmanager
def idling(package: Package, threads: int) -> Iterator[Idle]:
    """Yield a worker that is ready at once."""
    yield Idle(float(str(package.facts["each"])))


@dataclass(frozen=True, slots=True)
class Rendered:
    """A genotype with the key of its phenotype."""

    genotype: Genotype
    key: bytes


@dataclass(frozen=True, slots=True)
class Threads:
    """An evaluator that sleeps in threads of this process.

    Attributes:
        number: number of threads.
        each: seconds for an individual.
    """

    subject: Subject
    number: int
    each: float

    def prepare(self, batch: Mapping[int, Genotype]) -> Any:
        """Render individuals."""
        texts = {ident: self.subject.render(one, {}) for ident, one in batch.items()}
        return {i: Rendered(batch[i], xxh3_128_digest(text.encode())) for i, text in texts.items()}

    def take_phases(self) -> Phases:
        """Return no phases."""
        return Phases()

    def evaluate(
        self, batch: Mapping[int, Any], stop: Callable[[], bool], more: Callable[[], Any]
    ) -> Iterator[tuple[int, Evaluation]]:
        """Sleep for each individual and yield its result."""
        left: SimpleQueue[int] = SimpleQueue()
        done: SimpleQueue[int] = SimpleQueue()
        for ident in batch:
            left.put(ident)

        def work() -> None:
            due = time.monotonic()
            while True:
                try:
                    ident = left.get_nowait()
                except Empty:
                    return
                due += self.each
                time.sleep(max(0.0, due - time.monotonic()))
                done.put(ident)

        for _ in range(self.number):
            Thread(target=work, daemon=True).start()
        for _ in batch:
            yield done.get(), WRONG


@dataclass(slots=True)
class Timed:
    """An evaluator that measures its own time.

    Attributes:
        seconds: time from when it gets individuals until the last one is stored.
    """

    inner: Any
    seconds: float = 0.0

    def prepare(self, batch: Mapping[int, Genotype]) -> Any:
        """Prepare individuals by the wrapped evaluator."""
        return self.inner.prepare(batch)

    def evaluate(self, *arguments: Any) -> Iterator[tuple[int, Evaluation]]:
        """Evaluate individuals by the wrapped evaluator, and add up the time."""
        begun = time.perf_counter()
        yield from self.inner.evaluate(*arguments)
        self.seconds += time.perf_counter() - begun


def searched(
    subject: Subject, evaluator: Any, options: argparse.Namespace, watch: Callable[[int], None]
) -> tuple[float, float, list[str]]:
    """Run a search; return seconds of evaluation, seconds of processor time, and its genotypes.

    Args:
        watch: called with the number of individuals evaluated so far.
    """
    preset = find_preset("random", "")
    settings = preset.settings.having(options.population, options.generations)
    timed = Timed(evaluator)
    with Store(Path(":memory:"), create=True) as store:
        search = Evolution(
            store=store,
            evaluator=timed,
            phases=Phases,
            strategy=preset.strategy(settings),
            variation=preset.vary(subject),
            settings=settings,
            seed=options.seed,
            stop=lambda: False,
        )
        work = time.process_time()
        for number, _ in enumerate(one for one in search.run() if one.ident is not None):
            watch(number)
        genotypes = [one.genotype for one in store.individuals()]
        return timed.seconds, time.process_time() - work, genotypes


@contextmanager
def cluster_of(workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with some workers, each a process of its own."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch, ExitStack() as stack:

        def start(*words: str) -> None:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        file = Path(scratch) / "scheduler.json"
        where = ["--scheduler-file", str(file)]
        start("scheduler", *where, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(workers):
            start("worker", *where, "--nthreads", "1", "--local-directory", scratch)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(workers)
            address = client.scheduler.address
        yield address


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, nargs="?", default=Path("targets/bwt_exact"))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--population", type=int, default=500)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    subject, each = open_subject(options.target, "host"), options.workers / options.rate
    here = Threads(subject, options.workers, each)
    took, work, expected = searched(subject, here, options, lambda _: None)
    number = len(expected)
    least = number * each / options.workers
    print(f"without: {number} individuals: {said(took, least, work)}")
    package = Package({}, {}, {}, "", (), None, {"each": each}, {})
    with cluster_of(options.workers) as address:
        for deaths in (0, 2):
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(options.workers)
                doomed = list(client.run(os.getpid).values())[:deaths]

            def watch(evaluated: int, doomed: list[int] = doomed) -> None:
                while evaluated == number // 3 and doomed:
                    os.kill(doomed.pop(), signal.SIGKILL)

            members = Members(meeting_at(address), idling, package)
            members.open(lambda: False)
            evaluator = ClusterEvaluator(here, members)
            took, work, found = searched(subject, evaluator, options, watch)
            members.close()
            print(
                f"{options.workers} processes, {deaths} killed: {said(took, least, work)};"
                f" {members.lost} given to others;"
                f" {'the same' if found == expected else 'OTHER'} individuals"
            )


def said(took: float, least: float, work: float) -> str:
    """Describe the duration of evaluation in words."""
    return f"{took:.2f} s for {least:.2f} s ({took / least - 1:+.1%}), {work:.2f} s computing"


if __name__ == "__main__":
    main()
