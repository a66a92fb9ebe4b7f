"""History of a search: all evaluated individuals, read from the run database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ParamSpec, Protocol, TypeVar, cast

from gi_cuda.search.recipes import Keys, Member, Variation


class Lessons(Protocol):
    """Interface of what a strategy learns from evaluated individuals, in the order of their
    arrival.

    It must depend on these individuals only, so that a resumed search has learned the same.
    """

    def take(self, members: Sequence[Member]) -> None:
        """Learn from the next individuals, usually a generation."""


L = TypeVar("L", bound=Lessons)
P = ParamSpec("P")


class History:
    """The individuals that a search has evaluated so far.

    Args:
        variation: how genotypes vary.
        seed: seed of the search.
        known: keys of the genotypes that were tried or are about to be.
        read: returns the individuals that arrived after a cohort was bred and before the next one,
            by number of the cohort. If a cohort is a generation, these are the generation.
        bred: number of cohorts.
    """

    def __init__(
        self,
        variation: Variation,
        seed: int,
        known: Keys,
        read: Callable[[int], Sequence[Member]],
        bred: int = 0,
    ) -> None:
        self.variation = variation
        self.seed = seed
        self.known = known
        self.bred = bred
        self._read = read
        self._lessons: dict[object, tuple[Lessons, int]] = {}

    def latest(self) -> Sequence[Member]:
        """Return the individuals that arrived since the last cohort was bred; usually a
        generation.
        """
        return self._read(self.bred - 1) if self.bred else ()

    def lessons(self, make: Callable[P, L], *about: P.args, **named: P.kwargs) -> L:
        """Return what was learned from all individuals; each individual is taken once.

        Args:
            make: creates the learner; there is one learner for each `make`.
            about, named: arguments of `make`.
        """
        found, taken = self._lessons.get(make, (None, 0))
        lessons = make(*about, **named) if found is None else cast(L, found)
        for number in range(taken, self.bred):
            lessons.take(self._read(number))
        self._lessons[make] = (lessons, self.bred)
        return lessons
