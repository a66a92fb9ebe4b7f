"""Thompson sampling: what to try next, where what it gives is known only from having tried it.

Each arm is drawn as often as it is the best one under what is known: its expected regret grows with
the logarithm of the number of draws (Agrawal and Goyal, "Analysis of Thompson sampling for the
multi-armed bandit problem", COLT 2012). Unlike UCB it draws different arms while a whole batch of
answers is outstanding. Choosing the operators of evolutionary search so is adaptive operator
selection (Fialho et al., "Analyzing bandit-based adaptive operator selection mechanisms", 2010).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from random import Random
from typing import Generic, TypeVar

import numpy as np

A = TypeVar("A", bound=Hashable)


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

    def copy(self) -> Bandit[A]:
        """The same, to learn by itself from now on."""
        return Bandit(self.prior, dict(self._seen))

    def learn(self, arm: A, reward: float) -> None:
        """An arm was drawn and gave a reward of 0 to 1."""
        won, lost = self._seen.get(arm, self.prior)
        self._seen[arm] = won + reward, lost + 1 - reward

    def mean(self, arm: A) -> float:
        """What an arm is expected to give."""
        won, lost = self._seen.get(arm, self.prior)
        return won / (won + lost)

    def sampled(self, arms: Sequence[A], rng: Random) -> np.ndarray:
        """What each arm may give, drawn from what is known of it."""
        known = map(self._seen.get, arms, repeat(self.prior))
        seen = np.fromiter(chain.from_iterable(known), float).reshape(-1, 2)
        return chance(rng).beta(seen[:, 0], seen[:, 1])

    def ranked(self, arms: Sequence[A], rng: Random) -> Iterator[A]:
        """The arms, those first that seem best under values drawn from what is known of each."""
        order = np.argsort(-self.sampled(arms, rng), kind="stable")
        return (arms[at] for at in order.tolist())
