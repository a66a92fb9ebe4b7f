"""What a search knows of its past: all that was evaluated, read from the run database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ParamSpec, Protocol, TypeVar, cast

from gi_cuda.search.recipes import Keys, Member, Variation


class Lessons(Protocol):
    """What a strategy makes of what was evaluated, taken as it came.

    It must follow from that alone, so that a search that is resumed knows what it knew.
    """

    def take(self, members: Sequence[Member]) -> None:
        """Take what came next: as a rule the next generation."""


L = TypeVar("L", bound=Lessons)
P = ParamSpec("P")


class History:
    """What was evaluated in a search so far.

    Args:
        variation: how its genotypes vary.
        seed: of the search.
        known: keys of the genotypes that were tried, or are about to be.
        read: gives what came after a cohort was bred and before the next one was, by its number.
            Where a cohort is a generation, that is the generation.
        bred: how many cohorts there are.
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
        """What came since the last cohort was bred; where that is a generation, all of it."""
        return self._read(self.bred - 1) if self.bred else ()

    def lessons(self, make: Callable[P, L], *about: P.args, **named: P.kwargs) -> L:
        """What was learned from all that came, which is taken once.

        Args:
            make: what learns, before it has learned anything; there is one for each.
            about, named: what that is made of.
        """
        found, taken = self._lessons.get(make, (None, 0))
        lessons = make(*about, **named) if found is None else cast(L, found)
        for number in range(taken, self.bred):
            lessons.take(self._read(number))
        self._lessons[make] = (lessons, self.bred)
        return lessons
