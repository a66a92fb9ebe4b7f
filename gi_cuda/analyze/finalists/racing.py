"""Find the best individuals that have races between threads, by running them on the CPU.

A search on a GPU does not see races and breeds from individuals with races. In the end, most of its
best individuals may share one race. Watching an individual's code on the CPU takes about a second,
so many are watched before any is measured on the held-out cases.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from gi_cuda.analyze.finalists.repair import (
    Finalist,
    less_suspect,
    narrowed,
    rejected_part,
    rejecting,
    shared,
)
from gi_cuda.backends import cores
from gi_cuda.evaluate.candidates import Candidate, candidate
from gi_cuda.evaluate.scrutiny.objections import Objection
from gi_cuda.evaluate.scrutiny.ordering.races import Looked
from gi_cuda.genome import Change, changes_of
from gi_cuda.runs.run import Run

MOST: Final = 64
"""Largest number of individuals that are watched in a pass."""

ENOUGH: Final = 6.0
"""Seconds after which a pass starts no further individuals."""

TOGETHER: Final = max(1, cores() // 3)
"""Number of individuals that are watched at the same time. With one per core, each would take
several times as long."""

CLEAN: Final = 5
"""Number of individuals without races after which a pass ends."""

PASSES: Final = 3
"""Largest number of passes until the first remaining individual is known to have no race."""

MANY: Final = 0.5
"""Share of watched individuals with races above which their common faulty changes are
determined."""


@dataclass(slots=True)
class Racing:
    """Results about races in a run's individuals.

    Attributes:
        run: the run.
        faulty: sets of changes that cause a race by themselves. No individual that is known to have
            no race contains one of them.
    """

    run: Run
    faulty: list[frozenset[Change]] = field(default_factory=list)
    _seen: dict[int, Objection | None] = field(default_factory=dict)
    _clean: list[frozenset[Change]] = field(default_factory=list)

    def without(self, found: Sequence[Finalist]) -> list[Finalist]:
        """Leave out the individuals that are known to have races, keeping the order.

        The first remaining individuals are watched for races. If none remains, those that share the
        fewest changes with racing individuals are watched.
        """
        for _ in range(PASSES):
            left = self._left(found)
            if left and left[0][0] in self._seen:
                break
            self._look(left)
            if not self._left(found):
                racing = [one for one in found if self._seen.get(one[0])]
                unseen = [one for one in found if one[0] not in self._seen]
                self._look(less_suspect(unseen, racing, MOST))
        return self._left(found)

    def _left(self, found: Sequence[Finalist]) -> list[Finalist]:
        return [one for one in found if not self._races(one)]

    @property
    def said(self) -> Iterator[tuple[int, str]]:
        """Numbers of the individuals with races, and descriptions of the races."""
        return ((ident, one.said) for ident, one in self._seen.items() if one)

    def _said(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Watch candidates for races and return the objection to each or None.

        Candidates in which the search saw no race are not watched again, because a winner is
        watched on the held-out cases later.
        """
        watcher, races = self.run.tools.watcher, self.run.tools.certification.races
        clean = [watcher is not None and watcher.known(one) == Looked() for one in some]
        left = [one for one, known in zip(some, clean, strict=True) if not known]
        found = iter(races.beside_it(left))
        return [None if known else next(found) for known in clean]

    def _races(self, one: Finalist) -> bool:
        ident, genotype = one
        if ident in self._seen:
            return self._seen[ident] is not None
        changes = frozenset(changes_of(genotype))
        return any(part <= changes for part in self.faulty)

    def _look(self, found: Sequence[Finalist]) -> None:
        """Watch the first individuals that were not watched yet, and update `faulty`."""
        some = [one for one in found if one[0] not in self._seen][:MOST]
        begun = time.monotonic()
        looked: list[Finalist] = []
        clean = 0
        while len(looked) < len(some) and clean < CLEAN and time.monotonic() - begun < ENOUGH:
            group = some[len(looked) : len(looked) + TOGETHER]
            said = self._said([candidate(self.run.subject, one) for _, one in group])
            self._seen.update(zip((ident for ident, _ in group), said, strict=True))
            looked += group
            clean += said.count(None)
        objections = [self._seen[ident] for ident, _ in looked]
        racing = [one for one, said in zip(looked, objections, strict=True) if said]
        self._clean += [frozenset(changes_of(one[1])) for one in looked if one not in racing]
        faulty = list(self.faulty)
        first = next(filter(None, objections), None)
        if first and len(racing) > MANY * len(looked):
            part = rejected_part(self.run, shared(racing), first.look)
            part = narrowed(part, rejecting(self.run, first.look))
            faulty += [frozenset(part)] if part else []
        # Changes that race by themselves may not race together with other changes.
        self.faulty = [part for part in faulty if not any(map(part.issubset, self._clean))]
