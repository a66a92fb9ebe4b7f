"""What running on cases of which nothing is known yet is to be feared for.

What looks faster runs on siblings of the held-out cases as well. A variant that was right
on its own cases may take its worker down there; to rehearse there first saves that death, and costs
the device a run that is made to do no harm, which may take longer than all else that it is asked.
So it is done as long as more of them die than that is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FEARED: Final = 0.1
"""Share that is taken to die while nothing is known: of the first twenty of a search some did."""

BEFORE: Final = 10
"""Of so many, as if they had been looked at before."""

MEMORY: Final = 2048
"""Looks after which the earlier ones count half."""


@dataclass(slots=True)
class Risk:
    """How many died of those that ran on the siblings, or would have.

    Attributes:
        looks, deaths: how many there were, and how many of them.
    """

    looks: float = 0.0
    deaths: float = 0.0

    def looked(self) -> None:
        """One more is run there."""
        self.looks += 1
        if self.looks >= MEMORY:
            self.looks, self.deaths = self.looks / 2, self.deaths / 2

    def died(self) -> None:
        """One took its worker down, or would have."""
        self.deaths += 1

    @property
    def share(self) -> float:
        """How many are to be feared for."""
        return (self.deaths + FEARED * BEFORE) / (self.looks + BEFORE)

    def is_worth(self, seconds: float, death: float) -> bool:
        """Whether to rehearse saves as much as it takes.

        Args:
            seconds: that a rehearsal takes.
            death: seconds that one costs.
        """
        return self.share * death >= seconds
