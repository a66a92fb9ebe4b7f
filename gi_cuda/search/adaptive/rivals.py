"""What a search might go on with in place of its best one: the best of other configurations.

Kept is the best individual of each, as quality diversity keeps one of each kind (Mouret and Clune,
"Illuminating search spaces by mapping elites", 2015). Which of them is gone on with is a
max-k-armed bandit: wanted is not what is good on average, but what may yet become the best
(Cicirello and Smith, "The max k-armed bandit", AAAI 2005). What one may come to is drawn: its time
less a gain, of which the less is hoped for the more children it had since it was found.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import numpy as np

from gi_cuda.genome.space import Configuration
from gi_cuda.search.adaptive.bandit import chance
from gi_cuda.search.adaptive.tried import Tried

LEAST_GAIN = 0.02
"""What children are hoped to gain at least, as a logarithm, if all that edits gained was less."""

CHILDREN = 4.0
"""After three times so many children half of that is hoped for."""


@dataclass(slots=True)
class Rivals:
    """The best of each configuration.

    Attributes:
        children: how many were made of each individual, by its number.
    """

    children: Counter[int] = field(default_factory=Counter)
    _best: dict[Configuration, Tried] = field(default_factory=dict)

    def take(self, one: Tried) -> None:
        """A right individual came."""
        at = one.genotype.configuration
        if at not in self._best or one.ratio < self._best[at].ratio:
            self._best[at] = one

    def others(self, best: Tried) -> list[Tried]:
        """The best of each other configuration than the best one's."""
        at = best.genotype.configuration
        return [one for key, one in self._best.items() if key != at]

    def drawn(self, best: Tried, gain: float, rng: Random) -> Tried | None:
        """What to go on with in place of the best; None where there is nothing.

        Args:
            gain: what edits gained so far, as a logarithm.
        """
        some = self.others(best)
        if not some:
            return None
        times = np.log([one.ratio for one in some])
        had = np.array([self.children[one.ident] for one in some], float)
        hopes = max(gain, LEAST_GAIN) / np.sqrt(1 + had / CHILDREN)
        drawn = np.abs(chance(rng).standard_normal(len(some)))
        return some[int(np.argmin(times - hopes * drawn))]
