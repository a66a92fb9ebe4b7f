"""Which variants are measured together, and which of them are measured again.

Variants that share a measurement share the reference's launches. One that takes its worker down
spoils the measurement of the others, which are then measured without it; it is itself measured
again, alone in a fresh worker, before anything about it is final. In a rehearsal it is not: there
many take their workers down, and a mistake costs one individual.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from gi_cuda.backends.protocol.requests import Measure, Refused, SharedMeasurement
from gi_cuda.backends.workers.pool import Alone, Lost, Task
from gi_cuda.results.measurement import Measurement

Answer = Measurement | Lost | Refused
"""What became of one variant in one measurement."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer about one variant.

    Attributes:
        ident: its number.
        answer: what became of it.
        alone: whether it was measured alone, in a fresh worker.
        final: whether that is all that will be done about it: in a rehearsal it always is.
    """

    ident: int
    answer: Answer
    alone: bool
    final: bool


class MeasurementScheduler:
    """Makes the tasks of a pool of what is to be measured, and results of the pool's answers.

    Args:
        together: most variants in one measurement.
        rehearsal: whether all that is measured is whether answers are right.
    """

    def __init__(self, together: int, *, rehearsal: bool = False) -> None:
        self._together = together
        self._rehearsal = rehearsal
        self._requests: dict[int, Measure] = {}
        self._begun: dict[int, tuple[tuple[int, ...], bool]] = {}
        self._again: deque[tuple[tuple[int, ...], bool]] = deque()
        self._number = 0

    def tasks(self, requests: Iterable[tuple[int, Measure] | None]) -> Iterator[Task[int] | None]:
        """The tasks, until all variants have final results.

        Args:
            requests: by the number of the variant; None while there is nothing to be measured yet.
        """
        gathered: list[int] = []
        for request in requests:
            yield from self._repeated()
            if request is not None:
                ident, self._requests[ident] = request[0], request[1]
                gathered.append(ident)
            if len(gathered) >= self._together or (gathered and not request and not self._begun):
                yield self._task(tuple(gathered), alone=False)
                gathered.clear()
            elif request is None:
                yield None
        if gathered:
            yield self._task(tuple(gathered), alone=False)
        while self._begun or self._again:
            yield from self._repeated()
            yield None

    def _repeated(self) -> Iterator[Task[int]]:
        while self._again:
            idents, alone = self._again.popleft()
            yield self._task(idents, alone=alone)

    def _task(self, idents: tuple[int, ...], *, alone: bool) -> Task[int]:
        self._number += 1
        self._begun[self._number] = (idents, alone)
        first = self._requests[idents[0]]
        variants = tuple(self._requests[ident].variant for ident in idents)
        # Whether it hung or crashed counts only when that is final.
        final = alone or self._rehearsal
        sampling = first.sampling if final else replace(first.sampling, grace=0.0)
        shared = SharedMeasurement(variants, first.reference, sampling)
        return self._number, (Alone(shared) if alone else shared)

    def results(
        self, number: int, answer: tuple[Measurement | Refused, ...] | Lost | Refused
    ) -> Iterator[Answered]:
        """What a task's answer says about its variants; what it says nothing about is repeated."""
        idents, alone = self._begun.pop(number)
        result = partial(Answered, alone=alone, final=alone or self._rehearsal)
        if isinstance(answer, tuple):
            for ident, one in zip(idents, answer, strict=True):
                yield result(ident, one)
        elif len(idents) == 1:
            yield result(idents[0], answer)
        elif isinstance(answer, Lost) and answer.suspect in idents:
            self._again.append((tuple(i for i in idents if i != answer.suspect), False))
            yield result(answer.suspect, answer)
        else:
            self._again.extend(((ident,), False) for ident in idents)

    def repeat(self, ident: int) -> None:
        """Measure a variant again, alone in a fresh worker."""
        self._again.append(((ident,), True))
