"""Checks of candidates that are right on all cases, before one is reported as a winner.

Each check returns an *objection*: the reason why a candidate is wrong nevertheless; "" if it finds
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from gi_cuda.backends.job_threads import at_once, both
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.evaluate.scrutiny.blind_oracle import BlindOracle
from gi_cuda.evaluate.scrutiny.device_code import DeviceCode
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence
from gi_cuda.evaluate.scrutiny.not_reached import NotReached
from gi_cuda.evaluate.scrutiny.objections import (
    ORACLE_BLIND,
    Objection,
    Remembered,
    Ruling,
    objections_of,
)
from gi_cuda.evaluate.scrutiny.ordering.races import RaceWatch
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import UNEVEN
from gi_cuda.evaluate.scrutiny.unset_locals import UnsetLocals
from gi_cuda.results.evaluation import Validation


@dataclass(frozen=True)
class Certification:
    """All checks of a candidate.

    Attributes:
        blind: checks that the oracle tells right from wrong at all.
        dependence: finds candidates that ignore an input, confuse two inputs, or are wrong with
            other inputs, sizes or random numbers.
        unset_locals: finds reads of uninitialized local variables.
        races: finds data races between threads.
        device_code: finds code that no device can run, and writes to new variables.
        not_reached: finds code that no case reaches; used only to judge external rewrites.
    """

    blind: BlindOracle
    dependence: Dependence
    unset_locals: UnsetLocals
    races: RaceWatch
    device_code: DeviceCode
    not_reached: NotReached

    def prepare(self) -> None:
        """Start the work that is the same for all candidates, beside a search."""
        if self.races.beside:
            self.races.beside.watch_reference()
        self.dependence.ask_reference_meanwhile()

    def watch_reference(self) -> None:
        """Do the part of race detection that is the same for all candidates."""
        self.races.watch_reference()

    def screened(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the first objection to each candidate from the checks that take seconds for all
        together.

        Races are looked for on the CPU only.
        """
        found = at_once([partial(look, some) for look in (self._quick.of, self.races.beside_it)])
        return [next(filter(None, each), None) for each in zip(*found, strict=True)]

    def quick_objection(self, one: Candidate) -> str:
        """Return the first objection to a candidate from all checks but race detection.

        Race detection on the reference runs meanwhile, since it takes longer.
        """
        (found,), _ = both(partial(self._quick.of, [one]), self.watch_reference)
        return found.said if found else ""

    def thorough(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the first objection to each candidate that passed the quick checks, without
        races.
        """
        return self._thorough.of(some)

    def objection(self, one: Candidate) -> str:
        """Return the first objection, races included, that makes a candidate fail."""
        return next((found.said for found in self.findings(one) if found.fails), "")

    def findings(self, one: Candidate) -> list[Objection]:
        """Return all objections to a candidate, also those that only leave it unverified."""
        looks = [self._all_by_workers, self._all_races, lambda one: _found(self._unset([one]))]
        return [found for some in at_once([partial(look, one) for look in looks]) for found in some]

    @property
    def notes(self) -> list[str]:
        """Remarks on how the findings were made; complete after :meth:`findings`."""
        return [self.dependence.note] if self.dependence.note else []

    def certified(self, one: Candidate, validation: Validation) -> Validation:
        """Return a validation that fails if there is an objection to the candidate.

        It also names the cases on which races were looked for.
        """
        if not validation.correct:
            return validation
        said = self.quick_objection(one)
        for look in (self._thorough, self._racing):
            if not said and (found := look.of([one])[0]):
                said = found.said
        if said := said or self.races.on_all_blocks(one):
            return replace(validation, correct=False, message=said, overall=None, cases=None)
        return replace(validation, watched=self.races.watched(one))

    @cached_property
    def _quick(self) -> Remembered:
        """Cache of the first objection to each candidate, without races."""
        return Remembered(self._quick_objections)

    @cached_property
    def _thorough(self) -> Remembered:
        return Remembered(partial(self.dependence.objections, thorough=True))

    @cached_property
    def _racing(self) -> Remembered:
        return Remembered(self.races.objections)

    def _quick_objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        looks = (self._by_workers, self.device_code.invalid, self._unset)
        found = at_once([partial(look, some) for look in looks])
        return [next(filter(None, each), None) for each in zip(*found, strict=True)]

    def _by_workers(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objections of the checks that share the pool's workers, which run one by
        one.
        """
        if self.blind.objection:
            return self._all_blind(some)
        depends = self.dependence.objections(some)
        left = [one for one, found in zip(some, depends, strict=True) if found is None]
        unset = iter(objections_of(self.unset_locals.objections, left, quick=True))
        return [found or next(unset) for found in depends]

    def _unset(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return objections to reads of uninitialized locals, found on the CPU.

        On a GPU an uninitialized register holds any value, so a run there does not show the read.
        """
        if self.races.beside is None:
            return [None] * len(some)
        return objections_of(self.races.beside.unset, some, quick=True, code="unset-local")

    def _all_by_workers(self, one: Candidate) -> list[Objection]:
        """Return all objections to a candidate from the checks that share the pool's workers."""
        if self.blind.objection:
            return _found(self._all_blind([one]))
        look = self.unset_locals.objections
        unset = objections_of(look, [one], quick=True, code="unset-local")
        return [*self.dependence.findings([one])[0], *_found(unset), *self._all_of_text(one)]

    def _all_of_text(self, one: Candidate) -> list[Objection]:
        """Return the objections to a candidate's text.

        These are code that no device can run, and code that no case reaches. If no device can run
        the text, its coverage is not measured.
        """
        found = _found(self.device_code.objections([one]))
        if any(each.fails for each in found):
            return found
        return [*found, *_found(self.not_reached.objections([one]))]

    def _all_races(self, one: Candidate) -> list[Objection]:
        """Return the races that were seen, or an objection that races could not be looked for."""
        (found,) = self._racing.of([one])
        if found is None:
            seen = self.races.on_all_blocks(one)
            return _found(objections_of(lambda _: [seen], [one], quick=False, code="race"))
        if self.races.seen(one):
            if found.said.startswith(UNEVEN):
                return [replace(found, code="uneven-barrier", ruling=Ruling.UNVERIFIED)]
            return [replace(found, code="race")]
        return [replace(found, code="races-not-watched", ruling=Ruling.UNVERIFIED)]

    def _all_blind(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to all candidates of an oracle that accepts anything."""
        code, ruling = ORACLE_BLIND, Ruling.UNVERIFIED
        return objections_of(self._blind, some, quick=True, code=code, ruling=ruling)

    def _blind(self, some: Sequence[Candidate]) -> list[str]:
        return [self.blind.objection] * len(some)


def _found(some: Sequence[Objection | None]) -> list[Objection]:
    return [one for one in some if one]
