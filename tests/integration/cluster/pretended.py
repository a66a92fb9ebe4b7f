"""Workers of a cluster that measure nothing: the result of a genotype follows from its text."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64_intdigest

from gi_cuda.cluster.machine import Share
from gi_cuda.cluster.package import Package
from gi_cuda.errors import UserError
from gi_cuda.evaluate.batches.passes import Record, Trial
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict


def outcome(genotype: str) -> Evaluation:
    """Return the result of a genotype, always the same."""
    number = xxh3_64_intdigest(genotype.encode()) % 100
    if number < 10:
        return not_built("kernel.cu:1: does not compile")
    if number < 40:
        return Evaluation(True, Survival.NORMAL, penalty=1.0, message="wrong")
    ratio = number / 80
    verdict = Verdict.FASTER if ratio < 0.95 else Verdict.SLOWER
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio, ratio)


@dataclass(frozen=True)
class Here:
    """An evaluator of the same pretended results on the search's own machine.

    Attributes:
        prepare: prepares individuals.
    """

    prepare: Callable[[Mapping[int, Genotype]], dict[int, Trial]]

    def take_phases(self) -> Phases:
        return Phases()

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Trial]],
    ) -> Iterator[Record]:
        left = dict(batch)
        while left:
            ident = next(iter(left))
            yield ident, outcome(str(left.pop(ident).genotype))
            if left:
                left |= more()


@dataclass(frozen=True)
class Pretended:
    """Results of a worker that measures nothing.

    Attributes:
        folder: shared by all workers, who log their evaluations in it. A file ``death-*`` in it
            kills
            one worker, which removes the file first.
        seconds, floor: the pretended baseline.
    """

    folder: Path
    seconds: float = 1e-3
    floor: float = 0.01

    def results(
        self, share: Share, stop: Callable[[], bool], more: Callable[[], Share]
    ) -> Iterator[Record]:
        left = dict(share)
        while left and not stop():
            ident = next(iter(left))
            evaluation = outcome(left.pop(ident))
            with (self.folder / "evaluated").open("a") as file:
                file.write(f"{ident} {os.getpid()}\n")
            yield ident, evaluation
            if len(left) == len(share) // 2:
                self._die()
            left |= more()

    def _die(self) -> None:
        for death in self.folder.glob("death-*"):
            try:
                death.unlink()
            except FileNotFoundError:
                continue  # another one was faster
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def pretending(package: Package, threads: int) -> Iterator[Pretended]:
    """Yield a worker that is ready at once."""
    yield Pretended(Path(package.target))


@contextmanager
def refusing(package: Package, threads: int) -> Iterator[Pretended]:
    """Refuse to take part, as a worker."""
    raise UserError("its device is a toaster", hint="make toast")
    yield


@contextmanager
def choosy(package: Package, threads: int) -> Iterator[Pretended]:
    """Yield the first worker; refuse all others."""
    try:
        (Path(package.target) / "taken").touch(exist_ok=False)
    except FileExistsError:
        raise UserError("its device is a toaster", hint="make toast") from None
    yield Pretended(Path(package.target))
