"""Thompson sampling: what to try next, where what it gives is known only from having tried it.

Each arm is drawn as often as it is the best one under what is known: its expected regret grows with
the logarithm of the number of draws (Agrawal and Goyal, "Analysis of Thompson sampling for the
multi-armed bandit problem", COLT 2012). Unlike UCB it draws different arms while a whole batch of
answers is outstanding. Choosing the operators of evolutionary search so is adaptive operator
selection (Fialho et al., "Analyzing bandit-based adaptive operator selection mechanisms", 2010).
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
"""What an arm that was never drawn has given."""

VALUES: Final = 4
"""How many values are drawn for an arm where arms are many."""


def chance(rng: Random) -> np.random.RandomState:
    """Numbers for many arms at once, as the generator decides: the same with every numpy."""
    return np.random.RandomState(np.random.PCG64(rng.getrandbits(64)))


@dataclass(slots=True)
class Bandit(Generic[A]):
    """What arms have given so far.

    Attributes:
        prior: how many successes and failures an arm is taken to have had at first.
    """

    prior: tuple[float, float] = (1.0, 1.0)
    _seen: dict[A, tuple[float, float]] = field(default_factory=dict)

    def copy(self) -> Self:
        """The same, to learn by itself from now on."""
        return replace(self, _seen=dict(self._seen))

    def learn(self, arm: A, reward: float) -> None:
        """An arm was drawn and gave a reward of 0 to 1."""
        won, lost = self._seen.get(arm, NEVER)
        self._seen[arm] = won + reward, lost + 1 - reward

    def mean(self, arm: A) -> float:
        """What an arm is expected to give."""
        (won, lost), (more, less) = self._seen.get(arm, NEVER), self._at_first()
        return (won + more) / (won + more + lost + less)

    def sampled(self, arms: Sequence[A], rng: Random) -> np.ndarray:
        """What each arm may give, drawn from what is known of it."""
        seen = self._known(arms)
        return chance(rng).beta(seen[:, 0], seen[:, 1])

    def _known(self, arms: Sequence[A]) -> np.ndarray:
        """What arms have given, and what they are taken to have given at first: a row for each."""
        known = map(self._seen.get, arms, repeat(NEVER))
        return np.fromiter(chain.from_iterable(known), float).reshape(-1, 2) + self._at_first()

    def _at_first(self) -> tuple[float, float]:
        """What an arm that was never drawn is taken to have given."""
        return self.prior

    def ranked(self, arms: Sequence[A], rng: Random, worth: ArrayLike = 1.0) -> Iterator[A]:
        """The arms, those first that seem best under values drawn from what is known of each.

        Args:
            worth: what a success of each is worth.
        """
        order = np.argsort(-self.sampled(arms, rng) * worth, kind="stable")
        return (arms[at] for at in order.tolist())


@dataclass(slots=True)
class Alike(Bandit[A]):
    """Arms that are many, each of which is drawn a few times.

    One that was never drawn is taken to be as all are on the whole (empirical Bayes: Casella, "An
    introduction to empirical Bayes data analysis", The American Statistician 39(2), 1985), and what
    each may give is a mean of several values: of so many arms the highest value is mostly that of
    one of which little is known, and each would be drawn before those that gave something are drawn
    again. That less exploration costs no regret was shown for another way to have less (Jin, Yang,
    Xiao and Xu, "Thompson sampling with less exploration is fast and optimal", ICML 2023).

    Attributes:
        prior: as before, but once something was drawn only its sum counts: for so many draws.
    """

    prior: tuple[float, float] = (0.5, 0.5)

    def sampled(self, arms: Sequence[A], rng: Random) -> np.ndarray:
        """What each arm may give: means of several values drawn from what is known of it."""
        seen = self._known(arms)
        values = chance(rng).beta(seen[:, 0], seen[:, 1], (VALUES, len(arms)))
        mean: np.ndarray = values.mean(axis=0)
        return mean

    def _at_first(self) -> tuple[float, float]:
        won, lost = self.prior
        given = np.sum([self.prior, *self._seen.values()], axis=0)
        share = float(given[0] / given.sum())
        return (won + lost) * share, (won + lost) * (1 - share)
