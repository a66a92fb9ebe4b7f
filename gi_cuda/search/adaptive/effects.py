"""What single changes do, learned from many that were put together.

A search measures some tens of changes at once, and has to tell which of them paid. Times are taken
to add up: each change takes as much of the reference's time wherever it is made. What is known of
one is a normal distribution, and a measured sum moves each member by its share of what is uncertain
of the sum (a Kalman filter that keeps variances alone, as in Graepel et al., "Web-scale Bayesian
click-through rate prediction", ICML 2010). And a sum is right where none of its members breaks it
(a noisy or: Pearl, "Probabilistic Reasoning in Intelligent Systems", 1988, 4.3.2): where it is
wrong, each member had a part in that which is its chance to break over that of all together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from gi_cuda.genome.genotype import Change
from gi_cuda.results.verdict import LEAST_FLOOR
from gi_cuda.search.adaptive.bandit import Bandit, chance

USUAL = 0.02
"""The standard deviation of what a change does, of which nothing is known but that it did no harm
alone; in the reference's time."""

BREAKS = 1.0, 15.0
"""How often such a change is taken to have broken what it was put into, and not to have."""

LEAST = 1e-6
"""A chance to break that is as good as none."""


@dataclass(slots=True)
class Effects:
    """What is known of changes.

    Attributes:
        breaks: how often each broke what it was put into.
    """

    breaks: Bandit[Change] = field(default_factory=lambda: Bandit(BREAKS))
    _gains: dict[Change, tuple[float, float]] = field(default_factory=dict)

    def copy(self) -> Effects:
        """The same, to learn by itself from now on."""
        return Effects(self.breaks.copy(), dict(self._gains))

    def gain(self, change: Change) -> tuple[float, float]:
        """What a change gains of the reference's time: mean and variance."""
        return self._gains.get(change, (0.0, USUAL**2))

    def gained(self, changes: Collection[Change], before: float, after: float) -> None:
        """Changes were made at once, and it was right.

        Args:
            before, after: ratios without and with them.
        """
        known = {one: self.gain(one) for one in changes}
        noise = (LEAST_FLOOR * max(before, after)) ** 2
        uncertain = noise + sum(variance for _, variance in known.values())
        missed = before - after - sum(mean for mean, _ in known.values())
        for one, (mean, variance) in known.items():
            share = variance / uncertain
            self._gains[one] = mean + share * missed, variance * (1 - share)

    def went_together(self, changes: Collection[Change]) -> None:
        """Changes were made at once, and it was right."""
        for one in changes:
            self.breaks.learn(one, 0.0)

    def broke(self, changes: Collection[Change]) -> None:
        """Changes were made at once, and it was wrong."""
        chances = {one: self.breaks.mean(one) for one in changes}
        whole = 1 - math.prod(1 - one for one in chances.values())
        for one, alone in chances.items():
            self.breaks.learn(one, alone / whole)

    def paying(self, some: Sequence[Change], rng: Random) -> list[Change]:
        """As many of some changes as seem to gain most together: what their sum gains, times the
        chance that it is right, under values drawn from what is known of each."""
        means, variances = self._known(some)
        gains = means + np.sqrt(variances) * chance(rng).standard_normal(len(some))
        breaks = np.maximum(self.breaks.sampled(some, rng), LEAST)
        # One more pays where it gains more, beside all that gain already, than it puts at risk.
        worth = gains * (1 - breaks) / breaks
        order = np.argsort(-worth, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(gains[order])[:-1]])
        count = int(np.argmin(np.append(worth[order] > before, False)))
        return [some[int(at)] for at in order[:count]]

    def fitting(self, some: Sequence[Change], size: int, rng: Random) -> list[Change]:
        """Those of some changes that do not surely cost time, and that put less at risk, among so
        many, than they add pairs."""
        means, variances = self._known(some)
        breaks = self.breaks.sampled(some, rng)
        fit = np.flatnonzero((means + 2 * np.sqrt(variances) > 0) & (breaks < 2 / size))
        return [some[int(at)] for at in fit]

    def _known(self, some: Sequence[Change]) -> tuple[np.ndarray, np.ndarray]:
        means, variances = np.array([self.gain(one) for one in some]).T
        return means, variances
