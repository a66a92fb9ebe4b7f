"""Checks of candidates that are right on all cases, before any of them is handed out as a winner.

Each gives an *objection*: why a candidate is wrong all the same, in words; "" where it finds
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gi_cuda.backends.job_threads import at_once
from gi_cuda.evaluate.blind_oracle import BlindOracle
from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.evaluate.dependence import Dependence
from gi_cuda.evaluate.other_data import OtherData
from gi_cuda.evaluate.races import RaceWatch
from gi_cuda.evaluate.unset_locals import UnsetLocals
from gi_cuda.results.evaluation import Validation


@dataclass(frozen=True, slots=True)
class Certification:
    """All checks.

    Attributes:
        blind: whether the oracle tells right from wrong at all.
        dependence: whether a candidate leaves out an input, or takes another one for it.
        unset_locals: whether it reads what nothing sets.
        other_data: whether it is wrong on other random numbers.
        races: whether it lets threads race.
    """

    blind: BlindOracle
    dependence: Dependence
    unset_locals: UnsetLocals
    other_data: OtherData
    races: RaceWatch

    def quick_objection(self, one: Candidate) -> str:
        """The first objection to a candidate, but for races, which take longer to find. The
        reference is watched for races meanwhile: processors have nothing else to do."""
        looks: tuple[Callable[[], str | None], ...] = (
            partial(self._by_workers, one),
            partial(self.other_data.objection, one),
            self.races.watch_reference,
        )
        return next(filter(None, at_once(looks)), "")

    def _by_workers(self, one: Candidate) -> str:
        """That of the checks which run it in the workers that they share, one after the other."""
        return (
            self.blind.objection
            or self.dependence.objection(one)
            or self.unset_locals.objection(one)
        )

    def quick_objections(self, some: Sequence[Candidate]) -> list[str]:
        """The objection to each of several candidates, of the checks that can look at all of them
        at once: each alone would take seconds, and so do all together."""
        unset = self.unset_locals.objections(some)
        left = [one for one, said in zip(some, unset, strict=True) if not said]
        others = iter(self.dependence.objections(left))
        return [said or next(others) for said in unset]

    def objection(self, one: Candidate) -> str:
        """The first objection to a candidate, races that were seen among them."""
        return self.quick_objection(one) or self.races.seen(one)

    def certified(self, one: Candidate, validation: Validation) -> Validation:
        """A validation, which fails where there is an objection to the candidate."""
        if not validation.correct or not (said := self.quick_objection(one)):
            return self.races.certified(one, validation)
        return replace(validation, correct=False, message=said, overall=None, cases=None)
