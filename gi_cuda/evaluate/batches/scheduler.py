"""Scheduler of measurements: which variants are measured together, and which again.

Variants that share a measurement share the launches of the reference. A variant that kills its
worker spoils the measurement of the others, which are then repeated without it. The variant itself
is repeated alone in a new worker before its result is final. In a rehearsal it is not repeated:
many variants crash there, and a mistake costs only one individual.

A variant that looks faster is repeated too, in a new worker and also on the sibling cases. It waits
for other variants that look faster, if the device has other work meanwhile. It is not repeated if
it is much faster and was already right on the sibling cases.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from gi_cuda.backends.protocol.requests import Measure, Refused, Rehearse, SharedMeasurement
from gi_cuda.backends.workers.pool import Lost, Task, Wants
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import clearly_below

CONFIRMED = 2
"""Factor by which confirming measurements may be larger than others. Their variants are right, and
each new worker takes time to open the device."""

PATIENCE = 3
"""Number of other measurements after which variants that look faster are confirmed without waiting
for more. At the start of a search few variants are right and a measurement takes a second to fill,
but the search needs its faster variants."""

Answer = Measurement | Lost | Refused
"""The result of one variant in one measurement."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer about one variant.

    Attributes:
        ident: number of the variant.
        answer: its result.
        own: whether the result is due to this variant: it was measured alone in a new worker, or
            the device reported that it crashed.
        confirmed: whether it looked faster before, in another worker.
        elsewhere: whether it was to run on the sibling cases, if fast enough.
        final: whether it need not be repeated; True if `own`, and in rehearsals.
    """

    ident: int
    answer: Answer
    own: bool
    final: bool
    confirmed: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of variants that are measured together.

    Attributes:
        idents: numbers of the variants.
        wants: kind of worker that measures them.
        elsewhere: whether variants that are fast enough run on the sibling cases.
    """

    idents: tuple[int, ...]
    wants: Wants = Wants.ANY
    elsewhere: bool = False

    @property
    def alone(self) -> bool:
        """Tell whether it is one variant in a new worker, so that the result is due to this
        variant.
        """
        return self.wants is Wants.FRESH and len(self.idents) == 1

    def of(self, *idents: int) -> _Group:
        """Return a group of some of the variants, for a repetition with the same kind of worker.

        A single variant that was confirmed with others gets a new worker.
        """
        one_by_one = len(idents) == 1 and self.wants is Wants.ALIKE
        return _Group(idents, Wants.FRESH if one_by_one else self.wants)


class MeasurementScheduler:
    """A scheduler that makes tasks for a pool of workers, and results from their answers.

    Args:
        together: largest number of variants in one measurement.
        numbers: source of task numbers, which are unique in a pool.
        rehearsal: whether runs only check outputs, without timings.
        devices: number of devices, among which the last confirmations are divided.
    """

    def __init__(
        self, together: int, numbers: Iterator[int], *, rehearsal: bool = False, devices: int = 1
    ) -> None:
        self._together = together
        self._devices = devices
        self._rehearsal = rehearsal
        self._requests: dict[int, Measure] = {}
        self._new: deque[int] = deque()
        self._again: deque[_Group] = deque()
        self._doubted: deque[int] = deque()
        self._looked_faster: set[int] = set()
        self._begun: dict[int, _Group] = {}
        self._since = 0
        self._numbers = numbers

    @property
    def idle(self) -> bool:
        """Tell whether nothing is to be measured or being measured."""
        return not (self._new or self._again or self._doubted or self._begun)

    def has(self, number: int) -> bool:
        """Tell whether a task number is one of this scheduler's running tasks."""
        return number in self._begun

    def add(self, ident: int, request: Measure) -> None:
        """Schedule a variant; it may have been measured before with another request."""
        self._requests[ident] = request
        self._new.append(ident)

    def forget(self, ident: int) -> None:
        """Release a variant that has ended."""
        self._requests.pop(ident, None)
        self._looked_faster.discard(ident)

    def repeat(self, ident: int) -> None:
        """Schedule a variant again, alone in a new worker."""
        self._again.append(_Group((ident,), Wants.FRESH))

    def confirm(self, ident: int) -> None:
        """Schedule a variant that looks faster again, in a new worker, together with others if
        possible.
        """
        self._looked_faster.add(ident)
        self._doubted.append(ident)

    def next(self, *, more: bool, at_once: bool = False) -> Task[int] | None:
        """Return the next task; None if none is to begin now.

        Args:
            more: whether further variants will arrive, for which others may wait while workers are
                busy.
            at_once: whether much faster variants run on the sibling cases in their first
                measurement.
        """
        if self._again:
            return self._task(self._again.popleft(), at_once)
        # Wait for more variants only while the device has other work.
        to_come = (more and self._begun) or self._new or self._screens
        to_come = to_come and self._since < PATIENCE
        crowd = CONFIRMED * self._together
        if self._doubted and (len(self._doubted) >= crowd or not to_come):
            self._since = 0
            share = crowd if to_come else ceil(len(self._doubted) / self._devices)
            while self._doubted and not (to_come and len(self._doubted) < crowd):
                group = self._first(self._doubted, min(share, crowd))
                self._again.append(_Group(group, Wants.ALIKE))
            return self._task(self._again.popleft(), at_once)
        enough = self._together if more and self._begun else 1
        if len(self._new) < enough:
            return None
        self._since += 1
        return self._task(_Group(self._first(self._new, self._together)), at_once)

    @property
    def _screens(self) -> bool:
        """Tell whether a running measurement may yield variants that look faster."""
        begun = (group.idents for group in self._begun.values())
        return not all(map(self._looked_faster.issuperset, begun))

    def again(self, number: int) -> None:
        """Schedule the variants of a task again that will not be answered."""
        self._again.append(self._begun.pop(number))

    def _first(self, waiting: deque[int], most: int) -> tuple[int, ...]:
        """Remove and return the first waiting variant and others with the same sampling."""
        sampling = self._requests[waiting[0]].sampling
        alike = [one for one in waiting if self._requests[one].sampling == sampling][:most]
        for one in alike:
            waiting.remove(one)
        return tuple(alike)

    def _task(self, group: _Group, at_once: bool) -> Task[int]:
        number = next(self._numbers)
        confirms = self._looked_faster.issuperset(group.idents)
        elsewhere = not self._rehearsal and (confirms or at_once)
        self._begun[number] = replace(group, elsewhere=elsewhere)
        first = self._requests[group.idents[0]]
        variants = tuple(self._requests[ident].variant for ident in group.idents)
        sampling = first.sampling
        if self._rehearsal:
            return Task(number, Rehearse(variants, sampling), group.wants)
        if not confirms:
            below = clearly_below(sampling.floor) if at_once else 0.0
            sampling = replace(sampling, siblings=replace(sampling.siblings, below=below))
        return Task(number, SharedMeasurement(variants, first.reference, sampling), group.wants)

    def results(
        self, number: int, answer: tuple[Measurement | Refused, ...] | Lost | Refused
    ) -> Iterator[Answered]:
        """Yield the answers about a task's variants; variants without an answer are repeated."""
        group = self._begun.pop(number)
        idents = group.idents

        def result(ident: int, one: Answer) -> Answered:
            own = group.alone or _told(one, ident)
            confirmed = ident in self._looked_faster
            return Answered(ident, one, own, own or self._rehearsal, confirmed, group.elsewhere)

        if isinstance(answer, tuple):
            for ident, one in zip(idents, answer, strict=True):
                yield result(ident, one)
        elif len(idents) == 1:
            yield result(idents[0], answer)
        elif isinstance(answer, Lost) and answer.suspect in idents:
            others = tuple(i for i in idents if i != answer.suspect)
            self._again.append(group.of(*others))
            yield result(answer.suspect, answer)
        else:
            self._again.extend(map(group.of, idents))


def _told(answer: Answer, ident: int) -> bool:
    """Tell whether the device reported that this variant crashed.

    A hang is no proof, since the variant may have waited for another one.
    """
    return (
        isinstance(answer, Lost) and answer.survival is Survival.CRASHED and answer.suspect == ident
    )
