"""Which cohort of a search is bred next, and when there is room for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gi_cuda.results.generation import Generation, Individual
from gi_cuda.search.preset import Settings


@dataclass(frozen=True, slots=True)
class Cohort:
    """Individuals that are bred at once.

    Attributes:
        number: in the search, from 0.
        generation: that they belong to.
        places: how many there are to be.
    """

    number: int
    generation: int
    places: int


class Course:
    """How far a search has come.

    Args:
        settings: of the search.
        generations: that are bred so far.
        pending: what of them is not evaluated.

    Attributes:
        newest: the number of the newest generation; -1 while there is none.
        barren: whether nothing new came of breeding, and nothing was evaluated since.
    """

    def __init__(
        self, settings: Settings, generations: Sequence[Generation], pending: Iterable[Individual]
    ) -> None:
        self._settings = settings
        self.newest = len(generations) - 1
        self.bred = sum(one.cohorts for one in generations)
        self.barren = False
        self._within = generations[-1].cohorts if generations else 0
        self._under_way: dict[int, int] = {}
        self._sizes: Counter[int] = Counter()
        self._enter(pending)

    def _enter(self, individuals: Iterable[Individual]) -> None:
        for one in individuals:
            self._under_way[one.ident] = one.generation
            self._sizes[one.generation] += 1

    @property
    def under_way(self) -> dict[int, int]:
        """What is bred and not evaluated, each with its generation."""
        return self._under_way

    @property
    def left(self) -> int:
        """Places of the newest generation that are not bred yet."""
        left = self._settings.population - self._within * self._settings.cohort
        return max(0, left) if self._within else 0

    @property
    def next(self) -> Cohort | None:
        """The next cohort, if there is one."""
        settings, left = self._settings, self.left
        generation = self.newest if left else self.newest + 1
        if generation >= settings.generations:
            return None
        return Cohort(self.bred, generation, min(settings.cohort, left or settings.population))

    @property
    def due(self) -> Cohort | None:
        """The next cohort, if there is room for it."""
        found = self.next
        room = self._settings.population - len(self._under_way)
        return found if found and found.places <= room and not self.barren else None

    def begin(self, cohort: Cohort, individuals: Iterable[Individual]) -> None:
        """A cohort was bred."""
        self._within = self._within + 1 if cohort.generation == self.newest else 1
        self.newest, self.bred = cohort.generation, cohort.number + 1
        self._enter(individuals)

    def end(self, ident: int) -> int:
        """An individual is evaluated; its generation."""
        self.barren = False
        return self._under_way.pop(ident)

    def size(self, generation: int) -> int:
        """How many individuals of a generation were to be evaluated since the search was opened, or
        will be."""
        return self._sizes[generation] + (self.left if generation == self.newest else 0)
