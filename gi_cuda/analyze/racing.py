"""Which of the best individuals let threads race, as far as a processor sees that.

On a GPU a search does not see it, breeds of it, and in the end most of its best may share one race.
Their code for the processor is watched in a second of one each, so that many are, before any is
measured on the held-out cases.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from gi_cuda.analyze.repair import (
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
from gi_cuda.evaluate.scrutiny.races import Looked
from gi_cuda.genome import Change, changes_of
from gi_cuda.runs.run import Run

MOST: Final = 64
"""So many are looked at, at most."""

ENOUGH: Final = 6.0
"""Seconds after which no more are."""

TOGETHER: Final = max(1, cores() // 3)
"""So many at a time: each takes several times as long beside as many as there are processors."""

CLEAN: Final = 5
"""Once so many do not race, no more are looked at."""

PASSES: Final = 3
"""So often others are looked at, until it is known of the first that is left that it does not
race."""

MANY: Final = 0.5
"""The share of them that race from which on it is found out what they have in common that does."""


@dataclass(slots=True)
class Racing:
    """What is known of a run's individuals.

    Attributes:
        run: whose they are.
        faulty: changes that race together with no other one beside them, and that nothing has
            which is known not to race.
    """

    run: Run
    faulty: list[frozenset[Change]] = field(default_factory=list)
    _seen: dict[int, Objection | None] = field(default_factory=dict)
    _clean: list[frozenset[Change]] = field(default_factory=list)

    def without(self, found: Sequence[Finalist]) -> list[Finalist]:
        """Those of some that are not known to race, in their order. Of the first of them it is
        found out; where none is left, of those that share least with what races."""
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
        """The numbers of those that race, each with what was seen."""
        return ((ident, one.said) for ident, one in self._seen.items() if one)

    def _said(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each of several. There is none to a candidate in which the search
        saw no race: a winner is watched on the held-out cases as well."""
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
        """Find out which of some race, of the first ones that nothing is known of."""
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
        # What races by itself may not beside other changes.
        self.faulty = [part for part in faulty if not any(map(part.issubset, self._clean))]
