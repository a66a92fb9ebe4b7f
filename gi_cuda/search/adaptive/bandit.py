"""Thompson sampling, which chooses among arms whose rewards are known only from trying them.

Each arm is drawn with the probability that it is the best one, given the results so far. Its
expected regret grows with the logarithm of the number of draws (Agrawal and Goyal, "Analysis of
Thompson sampling for the multi-armed bandit problem", COLT 2012). Unlike UCB it draws different
arms while the answers to a whole batch are outstanding. Its use to choose operators of evolutionary
search is known as adaptive operator selection (Fialho et al., "Analyzing bandit-based adaptive
operator selection mechanisms", 2010).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from random import Random
from typing import Final, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

A = TypeVar("A", bound=Hashable)

NEVER: Final = (0.0, 0.0)
"""Successes and failures of an arm that was never drawn."""

VALUES: Final = 4
"""Number of values drawn for each arm of :class:`Alike`, which are averaged."""


def chance(rng: Random) -> np.random.RandomState:
    """Return a NumPy generator, seeded by `rng`, whose numbers are the same in all NumPy
    versions.
    """
    return np.random.RandomState(np.random.PCG64(rng.getrandbits(64)))


@dataclass(slots=True)
class Bandit(Generic[A]):
    """A bandit that records the rewards of arms.

    Attributes:
        prior: assumed successes and failures of an arm that was never drawn.
    """

    prior: tuple[float, float] = (1.0, 1.0)
    _seen: dict[A, tuple[float, float]] = field(default_factory=dict)

    def copy(self) -> Self:
        """Return an independent copy."""
        return replace(self, _seen=dict(self._seen))

    def learn(self, arm: A, reward: float) -> None:
        """Record that an arm was drawn and gave a reward from 0 to 1."""
        won, lost = self._seen.get(arm, NEVER)
        self._seen[arm] = won + reward, lost + 1 - reward

    def mean(self, arm: A) -> float:
        """Return the expected reward of an arm."""
        (won, lost), (more, less) = self._seen.get(arm, NEVER), self._at_first()
        return (won + more) / (won + more + lost + less)

    def sampled(self, arms: Sequence[A], rng: Random) -> np.ndarray:
        """Return a reward for each arm, drawn from its posterior distribution."""
        seen = self._known(arms)
        return chance(rng).beta(seen[:, 0], seen[:, 1])

    def _known(self, arms: Sequence[A]) -> np.ndarray:
        """Return successes and failures of arms, priors included, one row for each arm."""
        known = map(self._seen.get, arms, repeat(NEVER))
        return np.fromiter(chain.from_iterable(known), float).reshape(-1, 2) + self._at_first()

    def _at_first(self) -> tuple[float, float]:
        """Return the assumed successes and failures of an arm that was never drawn."""
        return self.prior

    def ranked(self, arms: Sequence[A], rng: Random, worth: ArrayLike = 1.0) -> Iterator[A]:
        """Yield the arms in descending order of rewards that are drawn from their posterior
        distributions.

        Args:
            worth: value of a success of each arm.
        """
        order = np.argsort(-self.sampled(arms, rng) * worth, kind="stable")
        return (arms[at] for at in order.tolist())


@dataclass(slots=True)
class Alike(Bandit[A]):
    """A bandit for many similar arms, each of which is drawn a few times.

    An arm that was never drawn is assumed to be like the average of all arms (empirical Bayes:
    Casella, "An introduction to empirical Bayes data analysis", The American Statistician 39(2),
    1985). The drawn reward of an arm is the mean of several values. With single values the highest
    one mostly belongs to an arm of which little is known, and almost all arms would be drawn once
    before successful arms are drawn again. Less exploration costs no regret, as was shown for
    another way to reduce it (Jin, Yang, Xiao and Xu, "Thompson sampling with less exploration is
    fast and optimal", ICML 2023).

    Attributes:
        prior: as in :class:`Bandit`; once an arm was drawn, only its sum counts, as the weight of
            the average in draws.
    """

    prior: tuple[float, float] = (0.5, 0.5)

    def sampled(self, arms: Sequence[A], rng: Random) -> np.ndarray:
        """Return a reward for each arm: the mean of several values from its posterior
        distribution.
        """
        seen = self._known(arms)
        values = chance(rng).beta(seen[:, 0], seen[:, 1], (VALUES, len(arms)))
        mean: np.ndarray = values.mean(axis=0)
        return mean

    def _at_first(self) -> tuple[float, float]:
        won, lost = self.prior
        given = np.sum([self.prior, *self._seen.values()], axis=0)
        share = float(given[0] / given.sum())
        return (won + lost) * share, (won + lost) * (1 - share)
