"""Which variants are measured together, and which of them are measured again.

Variants that share a measurement share the reference's launches, and how it is done. One that takes
its worker down spoils the measurement of the others, which are then measured without it; it is
itself measured again, alone in a fresh worker, before anything about it is final. In a rehearsal it
is not: there many take their workers down, and a mistake costs one individual.

What looks faster is measured again, too: in a fresh worker, together with others like it if the
device has something to do until they come, and on more cases, unless it is faster by far, and was
right on these cases at once.
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
"""Times as many variants as share other measurements that share one which confirms what they seemed
to be: they are right, and every fresh worker takes time to open the device."""

PATIENCE = 3
"""Other measurements from one that confirms to the next before what looks faster waits no longer
for company. Where little is right, as when a search begins, each of them takes a second to come
together, and what is faster is what the search waits for."""

Answer = Measurement | Lost | Refused
"""What became of one variant in one measurement."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer about one variant.

    Attributes:
        ident: its number.
        answer: what became of it.
        own: whether what became of it is its own doing: it was measured alone, in a fresh worker,
            or the device told of it that it crashed.
        confirmed: whether it looked faster before, in another worker.
        elsewhere: whether it was to run on the siblings, if it was fast enough.
        final: whether that is all that will be done about it: where it is its own, and in a
            rehearsal always.
    """

    ident: int
    answer: Answer
    own: bool
    final: bool
    confirmed: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """Variants that are measured together.

    Attributes:
        idents: their numbers.
        wants: which worker measures them.
        elsewhere: whether those that are fast enough run on the siblings.
    """

    idents: tuple[int, ...]
    wants: Wants = Wants.ANY
    elsewhere: bool = False

    @property
    def alone(self) -> bool:
        """Whether it is one by itself in a fresh worker, so that what happens to it is its own."""
        return self.wants is Wants.FRESH and len(self.idents) == 1

    def of(self, *idents: int) -> _Group:
        """Some of them, measured by such a worker again; what crashed or hung among others in a
        worker of a kind is now by itself in a fresh one."""
        one_by_one = len(idents) == 1 and self.wants is Wants.ALIKE
        return _Group(idents, Wants.FRESH if one_by_one else self.wants)


class MeasurementScheduler:
    """Makes tasks for a pool of what is to be measured, and results of the pool's answers.

    Args:
        together: most variants in one measurement.
        numbers: of tasks; no two of a pool have the same.
        rehearsal: whether all that is measured is whether answers are right.
        devices: among which what is confirmed at the end is divided.
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
        """Whether there is nothing to be measured and nothing being measured."""
        return not (self._new or self._again or self._doubted or self._begun)

    def has(self, number: int) -> bool:
        """Whether a task of that number is one of its own."""
        return number in self._begun

    def add(self, ident: int, request: Measure) -> None:
        """Have a variant measured; once more, where it was before and something else is asked."""
        self._requests[ident] = request
        self._new.append(ident)

    def forget(self, ident: int) -> None:
        """Nothing will be asked about a variant any more."""
        self._requests.pop(ident, None)
        self._looked_faster.discard(ident)

    def repeat(self, ident: int) -> None:
        """Measure a variant again, alone in a fresh worker."""
        self._again.append(_Group((ident,), Wants.FRESH))

    def confirm(self, ident: int) -> None:
        """Measure a variant that looks faster again, in a fresh worker; with others, if there are
        more to come."""
        self._looked_faster.add(ident)
        self._doubted.append(ident)

    def next(self, *, more: bool, at_once: bool = False) -> Task[int] | None:
        """The next task, if there is one to be begun now.

        Args:
            more: whether there are variants to come, for whose company others may wait while there
                is something else to do.
            at_once: whether what is faster by far runs on the siblings where it is first measured.
        """
        if self._again:
            return self._task(self._again.popleft(), at_once)
        # A device with nothing to do need not wait for company.
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
        """Whether anything is being measured that may look faster then."""
        begun = (group.idents for group in self._begun.values())
        return not all(map(self._looked_faster.issuperset, begun))

    def again(self, number: int) -> None:
        """Nobody will answer a task; its variants are to be measured as if it had never begun."""
        self._again.append(self._begun.pop(number))

    def _first(self, waiting: deque[int], most: int) -> tuple[int, ...]:
        """Takes the first of some that wait, and those behind it that are measured as it is."""
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
        """What a task's answer says about its variants; what it says nothing about is repeated."""
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
    """Whether the device told that it was this variant that crashed. What hung may have been kept
    waiting."""
    return (
        isinstance(answer, Lost) and answer.survival is Survival.CRASHED and answer.suspect == ident
    )
