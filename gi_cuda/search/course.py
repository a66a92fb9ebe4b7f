"""Progress of a search: the cohort to breed next, and whether there is room for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gi_cuda.results.generation import Generation, Individual
from gi_cuda.search.preset import Settings


@dataclass(frozen=True, slots=True)
class Cohort:
    """A group of individuals that are bred at once.

    Attributes:
        number: number of the cohort in the search, from 0.
        generation: number of its generation.
        places: number of individuals to breed.
    """

    number: int
    generation: int
    places: int


class Course:
    """The progress of a search.

    Args:
        settings: settings of the search.
        generations: generations bred so far.
        pending: individuals that are not evaluated yet.

    Attributes:
        newest: number of the newest generation; -1 if there is none.
        barren: whether the last attempt to breed gave nothing new, without an evaluation since.
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
        """The individuals that are bred but not evaluated, each with its generation."""
        return self._under_way

    @property
    def left(self) -> int:
        """Number of places of the newest generation that are not bred yet."""
        left = self._settings.population - self._within * self._settings.cohort
        return max(0, left) if self._within else 0

    @property
    def next(self) -> Cohort | None:
        """The next cohort; None if the search has no more."""
        settings, left = self._settings, self.left
        generation = self.newest if left else self.newest + 1
        if generation >= settings.generations:
            return None
        return Cohort(self.bred, generation, min(settings.cohort, left or settings.population))

    @property
    def due(self) -> Cohort | None:
        """The next cohort, if there is room for it now; else None."""
        found = self.next
        room = self._settings.population - len(self._under_way)
        return found if found and found.places <= room and not self.barren else None

    def begin(self, cohort: Cohort, individuals: Iterable[Individual]) -> None:
        """Record that a cohort was bred."""
        self._within = self._within + 1 if cohort.generation == self.newest else 1
        self.newest, self.bred = cohort.generation, cohort.number + 1
        self._enter(individuals)

    def end(self, ident: int) -> int:
        """Record that an individual was evaluated; return its generation."""
        self.barren = False
        return self._under_way.pop(ident)

    def size(self, generation: int) -> int:
        """Return the number of individuals of a generation that this process evaluates in all."""
        return self._sizes[generation] + (self.left if generation == self.newest else 0)
