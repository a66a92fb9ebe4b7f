"""What speaks against a candidate that is right on all cases. Whoever hands out a winner asks."""

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
class Doubts:
    """All that looks at candidates.

    Attributes:
        blind: whether the oracle tells right from wrong at all.
        dependence: whether they leave out an input, or take another one for it.
        unset_locals: whether they read what nothing sets.
        other_data: whether they are wrong on other random numbers.
        races: whether they let threads race.
    """

    blind: BlindOracle
    dependence: Dependence
    unset_locals: UnsetLocals
    other_data: OtherData
    races: RaceWatch

    def told_soon(self, one: Candidate) -> str:
        """What stands against a candidate, but for races, which take longer to see; "" where
        nothing does. The reference is watched for races meanwhile: processors have nothing else to
        do."""
        looks: tuple[Callable[[], str | None], ...] = (
            partial(self._by_workers, one),
            partial(self.other_data.complaint, one),
            self.races.watch_reference,
        )
        return next(filter(None, at_once(looks)), "")

    def _by_workers(self, one: Candidate) -> str:
        """What those say who run it in the workers that all have in common, one after the other."""
        return (
            self.blind.complaint
            or self.dependence.complaint(one)
            or self.unset_locals.complaint(one)
        )

    def told_each(self, some: Sequence[Candidate]) -> list[str]:
        """What stands against each of several, as far as it can be told of all in one go: where
        each took seconds before, all together do."""
        unset = self.unset_locals.complaints(some)
        left = [one for one, told in zip(some, unset, strict=True) if not told]
        others = iter(self.dependence.complaints(left))
        return [told or next(others) for told in unset]

    def seen(self, one: Candidate) -> str:
        """What stands against a candidate, as far as somebody saw it; "" where nothing does."""
        return self.told_soon(one) or self.races.seen(one)

    def certified(self, one: Candidate, validation: Validation) -> Validation:
        """A validation, which fails where the candidate is right on all cases and wrong all the
        same."""
        if not validation.correct or not (doubt := self.told_soon(one)):
            return self.races.certified(one, validation)
        return replace(validation, correct=False, message=doubt, overall=None, cases=None)
