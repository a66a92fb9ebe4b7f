"""Estimates of the effects of single changes, learned from individuals with many changes.

A search measures tens of changes at once, and has to find out which of them pay. Gains are assumed
to add up: each change saves the same share of the reference's time wherever it is made. The
estimate of a gain is a normal distribution. A measured sum corrects each member in proportion to
its share of the sum's variance (a Kalman filter with variances only, as in Graepel et al.,
"Web-scale Bayesian click-through rate prediction", ICML 2010). A union is right if none of its
members breaks it (a noisy or: Pearl, "Probabilistic Reasoning in Intelligent Systems", 1988,
4.3.2). If it is wrong, the blame of each member is its own probability to break a program, divided
by that of all members together.
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
"""Prior standard deviation of the gain of a change that was harmless alone, as a fraction of the
reference's time."""

BREAKS = 1.0, 15.0
"""Prior counts of a change that was harmless alone: programs that it broke, and did not break."""

LEAST = 1e-6
"""Lower bound of the probability to break a program, which avoids a division by zero."""


@dataclass(slots=True)
class Effects:
    """Estimates of the effects of changes.

    Attributes:
        breaks: how often each change broke a program.
    """

    breaks: Bandit[Change] = field(default_factory=lambda: Bandit(BREAKS))
    _gains: dict[Change, tuple[float, float]] = field(default_factory=dict)

    def copy(self) -> Effects:
        """Return an independent copy."""
        return Effects(self.breaks.copy(), dict(self._gains))

    def gain(self, change: Change) -> tuple[float, float]:
        """Return the mean and the variance of a change's gain, as fractions of the reference's
        time.
        """
        return self._gains.get(change, (0.0, USUAL**2))

    def gained(self, changes: Collection[Change], before: float, after: float) -> None:
        """Learn from changes that were made at once, in a right individual.

        Args:
            before, after: ratios without and with the changes.
        """
        known = {one: self.gain(one) for one in changes}
        noise = (LEAST_FLOOR * max(before, after)) ** 2
        uncertain = noise + sum(variance for _, variance in known.values())
        missed = before - after - sum(mean for mean, _ in known.values())
        for one, (mean, variance) in known.items():
            share = variance / uncertain
            self._gains[one] = mean + share * missed, variance * (1 - share)

    def went_together(self, changes: Collection[Change]) -> None:
        """Learn that changes were made at once without breaking the program."""
        for one in changes:
            self.breaks.learn(one, 0.0)

    def broke(self, changes: Collection[Change]) -> None:
        """Learn that changes were made at once and broke the program."""
        chances = {one: self.breaks.mean(one) for one in changes}
        whole = 1 - math.prod(1 - one for one in chances.values())
        for one, alone in chances.items():
            self.breaks.learn(one, alone / whole)

    def paying(self, some: Sequence[Change], rng: Random) -> list[Change]:
        """Return the subset of changes that seems to gain most together.

        The criterion is the sum of the gains times the probability that the result is right. Both
        are drawn from the estimates.
        """
        means, variances = self._known(some)
        gains = means + np.sqrt(variances) * chance(rng).standard_normal(len(some))
        breaks = np.maximum(self.breaks.sampled(some, rng), LEAST)
        # Add a change if its expected gain is larger than the gain so far that it puts at risk.
        worth = gains * (1 - breaks) / breaks
        order = np.argsort(-worth, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(gains[order])[:-1]])
        count = int(np.argmin(np.append(worth[order] > before, False)))
        return [some[int(at)] for at in order[:count]]

    def fitting(self, some: Sequence[Change], size: int, rng: Random) -> list[Change]:
        """Return the changes that are worth adding to a union of `size` changes.

        They do not certainly cost time, and their probability to break a program is below 2 /
        `size`: beyond that, a change puts more pairs at risk than it adds.
        """
        means, variances = self._known(some)
        breaks = self.breaks.sampled(some, rng)
        fit = np.flatnonzero((means + 2 * np.sqrt(variances) > 0) & (breaks < 2 / size))
        return [some[int(at)] for at in fit]

    def _known(self, some: Sequence[Change]) -> tuple[np.ndarray, np.ndarray]:
        means, variances = np.array([self.gain(one) for one in some]).T
        return means, variances
