"""Simulate a GPU for runs with the real compiler: smaller code takes less time, all is right."""

from __future__ import annotations

import select
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gi_cuda.backends.protocol.backend import Processes
from gi_cuda.backends.protocol.input_requests import (
    AgreesWith,
    DependsOn,
    Effect,
    KeepsNothing,
    TellVarying,
    Varying,
)
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    CountLoops,
    LoopCounts,
    Measure,
    Record,
    Recorded,
    Rehearse,
    SharedMeasurement,
    SpoilOutputs,
    Spoilt,
    TrySchedule,
)
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.pool import Task, Wants
from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.runs.run import Run
from gi_cuda.subject import Subject

Key = TypeVar("Key")


class PretendedPool(Generic[Key]):
    """A pool that finds every variant right and derives times from the size of code."""

    def __init__(self, *_: object) -> None:
        self.has_room = True
        self.devices = {0: DeviceId()}
        self._answers: list[tuple[Key, Any]] = []

    def __enter__(self) -> PretendedPool[Key]:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def release(self) -> PretendedPool[Key]:
        return self

    def close(self) -> None:
        pass

    def ready_for(self, reference: Program) -> None:
        pass

    def restock(self) -> None:
        pass

    def stock(self, count: int) -> None:
        pass

    def ask(self, request: object) -> Any:
        return self.one(request)

    def one(self, request: object, wants: Wants = Wants.FRESH) -> Any:
        match request:
            case Record(reference):
                return Recorded(dict.fromkeys(reference.cases, 0.0), {})
            case TrySchedule():
                return None
            case DependsOn():
                return Effect.SMALL
            case AgreesWith() | KeepsNothing():
                return ""
            case TellVarying():
                return Varying({"out": (8, 8)})
            case SpoilOutputs():
                return Spoilt()
            case CountLoops(program, loops):
                assert "gi_loop_most" in program.binary.variables  # type: ignore[attr-defined]
                return LoopCounts((7,) * loops)
            case Rehearse(variants, sampling):
                return tuple(
                    Measurement(one.binary.ident, Survival.NORMAL, 0.0) for one in variants
                )
            case SharedMeasurement(variants, reference, sampling):
                return tuple(_measured(variant, reference, sampling) for variant in variants)
            case Measure(variant, reference, sampling):
                return _measured(variant, reference, sampling)
        raise AssertionError(request)

    def map(self, requests: Iterable[tuple[Key, object]]) -> Iterator[tuple[Key, Any]]:
        for key, request in requests:
            yield key, self.one(request)

    def each(self, request: object) -> dict[int, Any]:
        return {0: self.one(request)}

    def submit(self, task: Task[Key], device: int | None = None) -> int:
        self._answers.append((task.key, self.one(task.request)))
        return 0

    def wait(self, timeout: float, *others: int) -> list[tuple[Key, Any]]:
        if not self._answers:
            select.select(others, [], [], timeout)
        answers, self._answers = self._answers, []
        return answers

    def abandon(self) -> None:
        self._answers.clear()


def _measured(variant: Program, reference: Program, sampling: Sampling) -> Measurement:
    times = [one.binary.resources["code"] / 1e6 for one in (variant, reference)]
    pairs = range(9 if sampling.most else 0)
    samples = tuple(Sample(case, *times) for case in variant.cases for _ in pairs)
    return Measurement(variant.binary.ident, Survival.NORMAL, 0.0, "", samples, 0.01, 0.01)


@dataclass(frozen=True)
class PretendedBackend:
    devices: tuple[DeviceId, ...] = (DeviceId(),)
    left_out: tuple[str, ...] = ()
    depth: int = 1
    together: int = 4
    slack: float = 3.0
    death: float = 0.3

    def processes(self, workers: int) -> Processes:
        return Processes(workers)

    def workers(self, asked: int, cores: int) -> int:
        return 1

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        return open_compiler(subject, jobs)

    def device(self) -> str:
        return "a pretended GPU"

    def versions(self) -> dict[str, str]:
        return {}

    def bandwidth(self) -> float | None:
        return None


def evolve(run: Run) -> None:
    for _ in run.evolution().run():
        pass
