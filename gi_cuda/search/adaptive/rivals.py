"""Rivals of the best individual, from which a search may continue: the best of each configuration.

The best individual of each configuration is kept, as quality diversity keeps one of each kind
(Mouret and Clune, "Illuminating search spaces by mapping elites", 2015). The choice among them is a
max-k-armed bandit: it looks not for a good average, but for the one that may become the best
(Cicirello and Smith, "The max k-armed bandit", AAAI 2005). The prospect of a rival is drawn: its
time less a possible gain. That gain shrinks with the number of children that the rival has had.
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
"""Lower bound of the possible gain of children, as a logarithm of a ratio."""

CHILDREN = 4.0
"""Scale of the number of children: after three times as many, the possible gain is halved."""


@dataclass(slots=True)
class Rivals:
    """The best individual of each configuration.

    Attributes:
        children: number of children of each individual, by its number.
    """

    children: Counter[int] = field(default_factory=Counter)
    _best: dict[Configuration, Tried] = field(default_factory=dict)

    def take(self, one: Tried) -> None:
        """Take a right individual into account."""
        at = one.genotype.configuration
        if at not in self._best or one.ratio < self._best[at].ratio:
            self._best[at] = one

    def others(self, best: Tried) -> list[Tried]:
        """Return the best individuals of the other configurations."""
        at = best.genotype.configuration
        return [one for key, one in self._best.items() if key != at]

    def drawn(self, best: Tried, gain: float, rng: Random) -> Tried | None:
        """Return an individual to continue from instead of the best; None if there is none.

        Args:
            gain: gain of edits so far, as a logarithm of a ratio.
        """
        some = self.others(best)
        if not some:
            return None
        times = np.log([one.ratio for one in some])
        had = np.array([self.children[one.ident] for one in some], float)
        hopes = max(gain, LEAST_GAIN) / np.sqrt(1 + had / CHILDREN)
        drawn = np.abs(chance(rng).standard_normal(len(some)))
        return some[int(np.argmin(times - hopes * drawn))]
