"""Verify variants in rounds: each round runs one case of each variant, in one turn at the device.

Workers take turns at a device. If each run of sixteen variants waited for a turn of its own, they
would wait most of the time. A run that may do harm is waited for before the next one starts, so
that a crash can be attributed. Harmless runs, and runs that were harmless before, follow each other
without a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from gi_cuda.backends.protocol.device import LaunchRefused, TimedRun, Verified
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import Refused
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.cases.variant_runner import VariantRunner
from gi_cuda.results.measurement import Measurement

AGAIN = 3
"""Number of times that a variant is verified again if its outputs changed while it was timed."""


def _as_recorded(place: int) -> int:
    """Return the draw in which outputs were recorded first."""
    return 0


@dataclass(slots=True)
class Verifier:
    """Verifies the variants of one request.

    Attributes:
        case_runner: the cases and the oracle.
        sampling: the request's sampling.
        harmless: whether all variants are confined.
        runners: the variants, by their index in the request.
        refused: errors of variants that the device refuses, by index.
    """

    case_runner: CaseRunner
    sampling: Sampling
    harmless: bool = False
    runners: dict[int, VariantRunner] = field(default_factory=dict)
    refused: dict[int, LaunchRefused] = field(default_factory=dict)

    def enter(self, programs: Sequence[Program]) -> None:
        """Load variants."""
        for place, program in enumerate(programs):
            with self._noted(place):
                self.runners[place] = VariantRunner(self.case_runner, program, self.sampling)

    def leave(self) -> None:
        """Unload the variants."""
        for runner in self.runners.values():
            runner.leave()

    def answers(self) -> tuple[Measurement | Refused, ...]:
        """Return the results of all variants."""
        places = sorted(self.runners.keys() | self.refused.keys())
        return tuple(self._answer(place) for place in places)

    def _answer(self, place: int) -> Measurement | Refused:
        if error := self.refused.get(place):
            return Refused(str(error), room=error.room)
        return self.runners[place].measurement()

    def right(self) -> list[int]:
        """Run all variants on their cases. Return the indices of those with acceptable outputs."""
        return self._right(self.runners, known=False)

    def verify_again(self, places: Collection[int]) -> None:
        """Verify timed variants again.

        A variant may pass once and fail when repeated, or be right only in some thread orders, in
        one draw or on these cases.

        A variant whose outputs changed while it was timed is verified some more times: the outputs
        may vary slightly from run to run, or it may not do its work every time.
        """
        left = list(places)
        for _ in range(AGAIN):
            left = self._without_wrong(left, [one for one in left if self.runners[one].differed])
        left = self._right_in_other_orders(left)
        siblings = self.sampling.siblings
        left = [one for one in left if self.runners[one].ratio <= siblings.below]
        for one in left:
            self.runners[one].elsewhere = True
        self._right(left, cases=siblings.cases, limit=siblings.limit, known=False)

    def _right_in_other_orders(self, places: list[int]) -> list[int]:
        """Return the variants that are right in another draw and in other thread orders.

        If the device can choose the order, all run in the first order, and those that look faster
        in all orders.
        """
        schedules, device = self.sampling.schedules, self.case_runner.device
        if not schedules:
            return self._right(places, self._another_draw)
        left = places
        for number, name in enumerate(schedules):
            some = [one for one in left if not number or self.runners[one].looks_faster]
            schedule = Schedule(name)
            with device.scheduled(schedule, schedules[name]):
                left = self._without_wrong(left, some, self._another_draw, schedule.words)
        return left

    def _another_draw(self, place: int) -> int:
        """Return any of the recorded draws except the first."""
        ident, runs = self.runners[place].program.binary.ident, self.case_runner.target.oracle.runs
        return 1 + ident % max(1, runs - 1)

    def _without_wrong(
        self,
        places: Collection[int],
        some: Sequence[int],
        draw: Callable[[int], int] = _as_recorded,
        words: str = "",
    ) -> list[int]:
        """Run some variants, and return all variants except those that are wrong.

        Args:
            places: all variants.
            some: the variants to run.
            words: description of how they run.
        """
        wrong = set(some) - set(self._right(some, draw))
        if words:
            for one in wrong:
                self.runners[one].add_reason(words)
        return [one for one in places if one not in wrong]

    def _right(
        self,
        places: Collection[int],
        draw: Callable[[int], int] = _as_recorded,
        *,
        cases: tuple[str, ...] | None = None,
        limit: float | None = None,
        known: bool = True,
    ) -> list[int]:
        """Verify variants, one case of each in a round. A variant that is wrong runs no more.

        Args:
            draw: returns the draw for a variant.
            cases: cases to use in place of their own.
            limit: seconds after which a launch on these counts as hung.
            known: whether they were timed on these cases, all together.
        """
        right: list[int] = []
        waiting = {}
        for place in places:
            program = self.runners[place].program
            with self._noted(place):
                asked = program if cases is None else replace(program, cases=cases)
                plans = self.case_runner.plans_to_verify(asked)
                for plan in plans:  # after each run, the buffers of all cases are checked
                    self.case_runner.device.make_room(plan)
                waiting[place] = iter(plans)
        while waiting:
            runs = {}
            for place, left in waiting.items():
                with self._noted(place):
                    if case_plan := next(left, None):
                        runs[place] = self.runners[place].run_on(case_plan, draw(place))
                    else:
                        right.append(place)
            longest = self.sampling.limit if limit is None else limit
            seen = self._round(runs, longest, pausing=not (known or self.harmless))
            waiting = {
                place: waiting[place]
                for place, one in seen.items()
                if self.runners[place].judged(runs[place], one)
            }
        return right

    def _round(
        self, runs: Mapping[int, TimedRun], limit: float, *, pausing: bool
    ) -> dict[int, Verified]:
        """Run one round and return the results.

        Args:
            pausing: whether to wait for each run.
        """
        if not runs:
            return {}
        device = self.case_runner.device
        with device.turn():
            if not pausing:
                with suppress(LaunchRefused):  # running them one by one shows which
                    return dict(zip(runs, device.verify(list(runs.values()), limit), strict=True))
            found = {}
            for place, run in runs.items():
                with self._noted(place):
                    (one,) = device.verify([run], limit)
                    found[place] = one if len(runs) == 1 else one.kept()
            return found

    @contextmanager
    def _noted(self, place: int) -> Iterator[None]:
        """Record a variant as refused if the context raises LaunchRefused."""
        try:
            yield
        except LaunchRefused as error:
            self.refused[place] = error
