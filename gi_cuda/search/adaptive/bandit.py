"""Thompson sampling: what to try next, where what it gives is known only from having tried it.

Each arm is drawn as often as it is the best one under what is known: its expected regret grows with
the logarithm of the number of draws (Agrawal and Goyal, "Analysis of Thompson sampling for the
multi-armed bandit problem", COLT 2012). Unlike UCB it draws different arms while a whole batch of
answers is outstanding. Choosing the operators of evolutionary search so is adaptive operator
selection (Fialho et al., "Analyzing bandit-based adaptive operator selection mechanisms", 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

A = TypeVar("A", bound=Hashable)


@dataclass(slots=True)
class Bandit(Generic[A]):
    """What arms have given so far.

    Attributes:
        prior: how many successes and failures an arm is taken to have had at first.
    """

    prior: tuple[float, float] = (1.0, 1.0)
    _seen: dict[A, tuple[float, float]] = field(default_factory=dict)

    def learn(self, arm: A, reward: float) -> None:
        """An arm was drawn and gave a reward of 0 to 1."""
        won, lost = self._seen.get(arm, self.prior)
        self._seen[arm] = won + reward, lost + 1 - reward

    def draw(
        self, arms: Sequence[A], rng: Random, worth: Callable[[A], float] = lambda arm: 1.0
    ) -> A:
        """The arm that seems best under values drawn from what is known of each.

        Args:
            worth: what a success of each is worth beside those of others.
        """
        sampled = [rng.betavariate(*self._seen.get(arm, self.prior)) * worth(arm) for arm in arms]
        return arms[sampled.index(max(sampled))]
