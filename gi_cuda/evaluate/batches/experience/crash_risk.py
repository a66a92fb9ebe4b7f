"""Estimate of the risk that a variant crashes on cases that it has not run on yet.

A variant that looks faster also runs on the siblings of the held-out cases. A variant that was
right on its own cases may crash there. A rehearsal on the siblings saves that crash but occupies
the device, perhaps for longer than all other runs of the variant. It is therefore done only as long
as enough variants crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FEARED: Final = 0.1
"""Prior estimate of the share that crashes; some of the first twenty variants of a search did."""

BEFORE: Final = 10
"""Weight of the prior estimate, as a number of variants."""

MEMORY: Final = 2048
"""Number of variants after which counts are halved, so that older variants count less."""


@dataclass(slots=True)
class CrashRisk:
    """Counts of variants that ran on the siblings, and of those that crashed there.

    Attributes:
        looks, deaths: number of variants, and number of crashes and hangs, also in rehearsals.
    """

    looks: float = 0.0
    deaths: float = 0.0

    def looked(self) -> None:
        """Count a variant that runs on the siblings."""
        self.looks += 1
        if self.looks >= MEMORY:
            self.looks, self.deaths = self.looks / 2, self.deaths / 2

    def died(self) -> None:
        """Count a variant that crashed or hung on the siblings."""
        self.deaths += 1

    @property
    def share(self) -> float:
        """The estimated probability of a crash."""
        return (self.deaths + FEARED * BEFORE) / (self.looks + BEFORE)

    def is_worth(self, seconds: float, death: float) -> bool:
        """Tell whether a rehearsal on the siblings saves at least as much as it costs.

        Args:
            seconds: cost of a rehearsal, in seconds.
            death: cost of a worker's death, in seconds.
        """
        return self.share * death >= seconds
